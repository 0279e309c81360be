package heldout

import "github.com/plimsoll/plimsoll/window/wire"

var chinese = story{
	name: "a hospital's queue in Go, in Chinese", dialect: wire.Chat, agent: claudeCode,
	said: []string{
		"把挂号系统迁到新的排班服务。排班服务在 9217 端口。儿科的号段不能动。提交信息请用英文。",
		"很好，接着做叫号屏。叫号屏每 3 秒刷新一次，最多显示 12 个号。",
		"现在做缴费。医保卡退款必须当天完成，超过 500 元要两个人签字。",
		"报表打开太慢，看一下。院长的报表不能超过 6 秒。备份现在放在苏州机房。",
		"最后修一下小程序，1.9 版还在老年科用。",
	},
	user: []string{
		"排班服务在 9217 端口", "儿科的号段不能动", "提交信息请用英文", "叫号屏每 3 秒刷新一次", "最多显示 12 个号", "医保卡退款必须当天完成", "超过 500 元要两个人签字", "院长的报表不能超过 6 秒", "备份现在放在苏州机房", "1.9 版还在老年科用",
	},
	chat: []string{
		"打开 {file} 看看。", "找一下 {name} 在哪里被调用。", "再跑一遍测试。", "继续。", "改这一段。", "{name} 的实现在这里。", "读一下相关模块。", "把改动写进去。", "在 {file} 里搜索。", "接着看 {name}。", "顺便确认 {file}。", "列出 {name} 的用法。", "下一个文件。", "这里替换掉。",
	},
	notes: []string{
		"{name} 和预期一样。", "这个文件里 {name} 出现了两次。", "{file} 很长，看开头就够了。", "{name} 和 {name} 很像。", "没有什么特别的。", "{name} 只做读取。", "这里不用改。", "{file} 的格式已经是对的。", "输出正常。", "{name} 继承自 {name}。",
	},
	openForm: form{"%s这块，%s还没有处理。", [][]any{
		{"叫号屏", "同名病人的区分显示"}, {"缴费", "退号后剩余的几分钱"}, {"排班同步", "断线之后的补偿重试"}, {"备份", "苏州机房的磁盘配额"}, {"病人档案", "同一手机号的两个账户"},
	}},
	open: []said{
		{"急诊的优先级目前是写死的，等护士长给规则。", "急诊的优先级目前是写死的"},
		{"节假日排班还得人工录入；人事处的接口没开。", "节假日排班还得人工录入"},
		{"三号楼的打印机没有条件测，要去现场。", "三号楼的打印机没有条件测"},
		{"优惠券重复使用的校验我没写。", "优惠券重复使用的校验我没写"},
		{"英文界面的翻译需要找人过一遍。", "英文界面的翻译需要找人过一遍"},
	},
	rest: "剩下的：",
	openItems: []said{
		{"药品新价格表的导入", "药品新价格表的导入"}, {"护士手机上没有弹出通知权限", "护士手机上没有弹出通知权限"}, {"请王主任确认小票的版式", "请王主任确认小票的版式"}, {"三年以上的挂号记录归档", "三年以上的挂号记录归档"}, {"报表图的颜色", "报表图的颜色"},
	},
	causeForm: form{"%s问题的根子在%s。", [][]any{
		{"重复叫号", "打印队列没等确认就重发"}, {"丢单", "工号以零开头时被截短"}, {"报表慢", "每一行都新开一个数据库连接"}, {"金额不对", "费率按今天而不是就诊当天读取"},
	}},
	causes: []said{
		{"测试挂掉是因为排班服务按秒取整，而我们拿毫秒比较。", "排班服务按秒取整，而我们拿毫秒比较"},
		{"早上九点丢号：清理任务用的是 UTC，不是本地时间。", "清理任务用的是 UTC，不是本地时间"},
		{"原来缓存键里没有院区编号，两个院区看到了对方的号源。", "缓存键里没有院区编号"},
		{"不是代码的错，代理把超过 1 MB 的正文悄悄截断了。", "代理把超过 1 MB 的正文悄悄截断了"},
		{"人数存成了字符串，9 比 12 大，所以分诊失败。", "人数存成了字符串，9 比 12 大"},
		{"小程序启动就崩，旧系统上证书链不完整。", "旧系统上证书链不完整"},
		{"两个协程不加锁地递增同一个计数器，发票号就跳了。", "两个协程不加锁地递增同一个计数器"},
		{"死锁出在事务里写日志这一步。", "死锁出在事务里写日志这一步"},
	},
	decided: []said{
		{"号源在每次挂号时更新，不放到夜间任务里，夜间任务看不到中午的余号。", "每次挂号时更新，不放到夜间任务里"},
		{"队列用 PostgreSQL 表而不是 Redis，分院没人维护第二台服务器。", "PostgreSQL 表而不是 Redis"},
		{"金额一律存整数分，小数类型不要。", "存整数分，小数类型不要"},
		{"路线不自己算，直接用地图服务给的顺序。", "不自己算，直接用地图服务给的顺序"},
		{"旧发票格式不转换了，两个读取器并存。", "不转换了，两个读取器并存"},
		{"病人注销只打标记，不真删，财务要留十年。", "只打标记，不真删"},
		{"会话时长门诊 12 小时，行政一小时不变。", "门诊 12 小时，行政一小时不变"},
		{"报表放弃分页，整份流式输出。", "放弃分页，整份流式输出"},
		{"通知走短信，邮件没人看。", "通知走短信，邮件没人看"},
		{"重试不交给客户端，服务端试三次就停。", "不交给客户端，服务端试三次就停"},
		{"公共代码留在同一个仓库，拆包的想法作罢。", "留在同一个仓库，拆包的想法作罢"},
		{"日历不引新依赖，标准库够用。", "不引新依赖，标准库够用"},
	},
	ends: []string{"排班迁移完成，读写都走新服务，测试全过。", "叫号屏做好了，改了三个文件。", "缴费部分结束，用样例数据试过。", "报表快了，首页不到两秒。", "小程序修好了。"},
	failing: map[string][]string{
		"go test ./roster/...": {"--- FAIL: TestMomentOfCount (0.01s)\n    count_test.go:44: got 1764230400, want 1764230400.391\nFAIL\nFAIL\tclinic/roster\t0.02s", "got 1764230400, want 1764230400.391"},
		"go test ./triage/...": {"--- FAIL: TestLeadingZero (0.00s)\n    assign_test.go:19: nurse 0417 has no patients\nFAIL\nFAIL\tclinic/triage\t0.02s", "nurse 0417 has no patients"},
		"go vet ./billing/...": {"# clinic/billing\nbilling/tax.go:31:2: declared and not used: rateOfDay", "declared and not used: rateOfDay"},
		"make migrate":         {"applying 0031_number\nERROR:  could not create unique index \"invoice_number_key\"\nDETAIL:  Key (number)=(20412) is duplicated.\nmake: *** [Makefile:12: migrate] Error 3", "Key (number)=(20412) is duplicated"},
		"npx jest miniprogram": {"FAIL miniprogram/boot.test.ts\n  ● boot › opens on old devices\n\n    expect(received).toBe(expected)\n\n    Expected: \"ready\"\n    Received: \"handshake failed\"\n\nTests: 1 failed, 4 passed, 5 total", "Received: \"handshake failed\""},
	},
	dirs: []string{"roster", "triage", "billing", "screen", "reports", "miniprogram", "internal/store"}, suffix: ".go",
	stems: []string{"count", "assign", "patient", "tax", "receipt", "printer", "calendar", "ward", "coupon", "queue", "archive", "label", "session", "route"},
	code:  []string{"func (s *%s) %s(%s %s) error {", "\tif err := s.%s.%s(%s); err != nil {", "\t\treturn fmt.Errorf(\"%s: %%w\", err)", "\t}", "\treturn nil", "}", "\t%s := make(map[string]%s)", "// %s of %s", "type %s struct{ %s %s }"},
}
