package devserver

import "testing"

// The stack of a panic is replaced by its place in the project.
func TestShortenStacks(t *testing.T) {
	for text, want := range map[string]string{
		`level=ERROR msg="handler panicked" panic=boom stack="goroutine 7 [running]:\nruntime/debug.Stack()\n\t/go/src/runtime/debug/stack.go:26 +0x5e\nhd/core/mcp.call()\n\t/p/core/mcp/typed.go:37 +0x4\nhd/tools.Boom({\"a\"})\n\t/p/tools/boom.go:19 +0x8\n" request=2`: `level=ERROR msg="handler panicked" panic=boom at tools/boom.go:19 request=2`,
		"panic: boom\n\ngoroutine 1 [running]:\nhd/tools.Boom()\n\t/p/tools/boom.go:19 +0x8\n\ngoroutine 2 [select]:\nx()\n\t/p/tools/x.go:1 +0x8\n":                                                                                                                         "panic: boom at tools/boom.go:19",
		`panic=boom stack="goroutine 7 [running]:\nmain.main()\n\t/else/main.go:1 +0x8`:                                                                                                                                                                                      "panic=boom",
		"no stack": "no stack",
	} {
		if got := shortenStacks(text, "/p"); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}
