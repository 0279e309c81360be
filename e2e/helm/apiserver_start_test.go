package helm_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// startAPIServer starts etcd and kube-apiserver from bin on loopback, and ends them with the test. The result is the address, and a token of
// somebody who may do everything.
func startAPIServer(t *testing.T, bin string) (address, token string) {
	t.Helper()
	dir := t.TempDir()
	start := func(name string, args ...string) { launch(t, bin, dir, name, args...) }
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random)
	token = hex.EncodeToString(random)
	for name, text := range map[string][]byte{
		"sa.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
		"sa.pub": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
		"tokens": []byte(token + ",test,test,system:masters\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client, peer, port := "http://127.0.0.1:"+freePort(t), "http://127.0.0.1:"+freePort(t), freePort(t)
	start("etcd", "--data-dir", filepath.Join(dir, "data"), "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	start("kube-apiserver", "--etcd-servers", client, "--secure-port", port, "--bind-address", "127.0.0.1", "--cert-dir", filepath.Join(dir, "certs"),
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", filepath.Join(dir, "sa.pub"),
		"--service-account-signing-key-file", filepath.Join(dir, "sa.key"), "--token-auth-file", filepath.Join(dir, "tokens"),
		"--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24",
		// Who makes the account of a pod is not there in a dry run.
		"--disable-admission-plugins", "ServiceAccount")
	address = "https://127.0.0.1:" + port
	ask := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 10 * time.Second}
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := ask.Do(r)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return address, token
			}
		}
		if time.Now().After(end) {
			t.Fatalf("it is not ready: %v", err)
		}
	}
}

// launch starts a program of bin in a folder, and ends it with the test.
func launch(t *testing.T, bin, dir, name string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, name), args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s ended with %v and said: …%s", name, cmd.ProcessState, text[max(0, len(text)-4000):])
		}
	})
}
