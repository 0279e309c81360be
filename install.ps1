# install.ps1 - puts plimsoll from a release into a folder of yours, after its SHA-256 sum was checked.
#
#   .\install.ps1 [-Version 0.1.0] [-To DIR] [-From URL] [-DryRun] [-Uninstall]
#
# The default folder is %LOCALAPPDATA%\Programs\plimsoll. Needs no administrator. PATH is not changed.
param(
    [string]$Version = '',
    [string]$To = (Join-Path $env:LOCALAPPDATA 'Programs\plimsoll'),
    [string]$From = 'https://github.com/plimsoll/plimsoll/releases',
    [switch]$DryRun,
    [switch]$Uninstall
)
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue' # drawing it makes downloads slow in PowerShell 5
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

$Program = Join-Path $To 'plimsoll.exe'
if ($Uninstall) {
    if (-not (Test-Path $Program)) { throw "there is no plimsoll.exe in $To; name its folder with -To DIR" }
    if ($DryRun) { "would remove $Program"; return }
    Remove-Item $Program
    "removed $Program"
    return
}
if ($From -notmatch '^(https://|http://(127\.0\.0\.1|localhost)[:/])') { throw "-From $From is not fetched: only https:// is, and http:// on this machine" }

$Arch = $env:PROCESSOR_ARCHITECTURE
if ($env:PROCESSOR_ARCHITEW6432) { $Arch = $env:PROCESSOR_ARCHITEW6432 } # a 32-bit PowerShell
switch ($Arch) {
    'AMD64' { $Arch = 'amd64' }
    'ARM64' { $Arch = 'arm64' }
    default { throw "there is no release for Windows on $Arch, only for amd64 and arm64" }
}
$From = $From.TrimEnd('/')
$Release = "$From/latest/download"
if ($Version) { $Version = $Version.TrimStart('v'); $Release = "$From/download/v$Version" }

$Work = Join-Path ([IO.Path]::GetTempPath()) ('plimsoll-' + [Guid]::NewGuid())
$Staged = "$Program.new"
New-Item -ItemType Directory $Work | Out-Null
try {
    $Sums = Join-Path $Work 'SHA256SUMS'
    Invoke-WebRequest -UseBasicParsing "$Release/SHA256SUMS" -OutFile $Sums
    $Line = Get-Content $Sums | Where-Object { $_ -match "^[0-9a-f]{64}  plimsoll-[0-9A-Za-z.-]+-windows-$Arch\.zip$" } | Select-Object -First 1
    if (-not $Line) { throw "$Release/SHA256SUMS names no archive for windows-$Arch; try another -Version" }
    $Want, $Name = $Line -split '  '
    $Found = $Name -replace '^plimsoll-', '' -replace "-windows-$Arch\.zip$", ''
    if ($Version -and $Version -ne $Found) { throw "$Release holds version $Found and not $Version; nothing was changed" }
    $Url = "$From/download/v$Found/$Name"
    if ($DryRun) { "would fetch $Url"; "would check its sum $Want"; "would install $Program"; return }

    $Zip = Join-Path $Work $Name
    Invoke-WebRequest -UseBasicParsing $Url -OutFile $Zip
    $Got = (Get-FileHash -Algorithm SHA256 $Zip).Hash.ToLower()
    if ($Got -ne $Want) { throw "the sum of $Name is $Got and not $Want; nothing was changed: try again" }
    Expand-Archive $Zip -DestinationPath $Work
    $New = Join-Path $Work ([IO.Path]::GetFileNameWithoutExtension($Name) + '\plimsoll.exe')
    $Says = & $New version
    if ($LASTEXITCODE -ne 0) { throw "$Name does not start on this machine; nothing was changed" }
    New-Item -ItemType Directory -Force $To | Out-Null
    Copy-Item $New $Staged
    Move-Item -Force $Staged $Program # fails while plimsoll runs; nothing is changed then
    "installed $Program"
    $Says
    if (($env:PATH -split ';') -notcontains $To) { "$To is not in PATH. Next: add it in the environment variables of your account" }
} finally {
    Remove-Item -Recurse -Force $Work
    if (Test-Path $Staged) { Remove-Item $Staged }
}
