package hostile_test

import (
	"fmt"
	"strings"
	"testing"
)

// A request that two servers in a row could frame differently is rejected, or parsed as the
// standard requires. No part of it is parsed as another request.
func TestSmuggling(t *testing.T) {
	session := begin(t, keyA)
	hidden := request{headers: []string{"Mcp-Session-Id: " + session}, body: `{"jsonrpc":"2.0","id":"hidden","method":"ping"}`}.String()
	open := request{headers: []string{"Mcp-Session-Id: " + session, "Connection: keep-alive", "Content-Length:"}}.String()
	head := strings.TrimSuffix(open, "\r\n")
	ping := `{"jsonrpc":"2.0","id":"seen","method":"ping"}`
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(ping), ping)
	for _, test := range []struct{ name, raw string }{
		{"a length and chunks", head + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", len(hidden)+5) + hidden},
		{"chunks and a length", head + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n" + chunk + hidden},
		{"two lengths", head + fmt.Sprintf("Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s%s", len(ping), len(ping)+len(hidden), ping, hidden)},
		{"two lengths in one", head + fmt.Sprintf("Content-Length: %d, %d\r\n\r\n%s%s", len(ping), len(ping)+1, ping, hidden)},
		{"a length with a sign", head + fmt.Sprintf("Content-Length: +%d\r\n\r\n%s%s", len(ping), ping, hidden)},
		{"a length below zero", head + "Content-Length: -1\r\n\r\n" + ping + hidden},
		{"a length in hexadecimal", head + fmt.Sprintf("Content-Length: %#x\r\n\r\n%s%s", len(ping), ping, hidden)},
		{"an endless length", head + "Content-Length: 18446744073709551617\r\n\r\n" + ping + hidden},
		{"chunks in disguise", head + "Transfer-Encoding: xchunked\r\n\r\n" + chunk + hidden},
		{"chunks and more", head + "Transfer-Encoding: chunked, identity\r\n\r\n" + chunk + hidden},
		{"chunks twice", head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + hidden},
		{"chunks after a tab", head + "Transfer-Encoding:\x0bchunked\r\n\r\n" + chunk + hidden},
		{"chunks of a quoted kind", head + "Transfer-Encoding: \"chunked\"\r\n\r\n" + chunk + hidden},
		{"a blank before the colon", head + "Transfer-Encoding : chunked\r\n\r\n" + chunk + hidden},
		{"a blank before a length", head + fmt.Sprintf("Content-Length : %d\r\n\r\n%s%s", len(ping), ping, hidden)},
		{"a zero in a name", head + fmt.Sprintf("Content-\x00Length: %d\r\n\r\n%s%s", len(ping), ping, hidden)},
		{"a zero in a value", head + fmt.Sprintf("X-Odd: a\x00b\r\nContent-Length: %d\r\n\r\n%s%s", len(ping), ping, hidden)},
		{"a return in a value", head + fmt.Sprintf("X-Odd: a\rTransfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n%s%s", len(ping), ping, hidden)},
		{"a chunk with a sign", head + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("+%x\r\n%s\r\n0\r\n\r\n", len(ping), ping) + hidden},
		{"a chunk with an excessive length", head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + ping + hidden},
		{"a chunk that is longer than it says", head + "Transfer-Encoding: chunked\r\n\r\n5\r\n" + ping + "\r\n0\r\n\r\n" + hidden},
		{"a chunk with a long remark", head + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x;%s\r\n%s\r\n0\r\n\r\n", len(ping), strings.Repeat("x", 20_000), ping) + hidden},
		{"no host", strings.Replace(head, "Host: "+address+"\r\n", "", 1) + fmt.Sprintf("Content-Length: %d\r\n\r\n%s%s", len(ping), ping, hidden)},
		{"two hosts", head + fmt.Sprintf("Host: evil.example\r\nContent-Length: %d\r\n\r\n%s%s", len(ping), ping, hidden)},
		{"a header that is too large", head + "X-Large: " + strings.Repeat("x", 200_000) + "\r\nContent-Length: 0\r\n\r\n" + hidden},
		{"too many headers", head + strings.Repeat("X-Many: x\r\n", 20_000) + "Content-Length: 0\r\n\r\n" + hidden},
		{"another HTTP", strings.Replace(head, "HTTP/1.1", "HTTP/3.0", 1) + "Content-Length: 0\r\n\r\n" + hidden},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + hidden},
		{"no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + hidden},
		{"no line", strings.Repeat("A", 100_000)},
	} {
		all := exchange(t, test.raw)
		refused := len(all) == 0 || len(all) == 1 && all[0].StatusCode >= 400 && all[0].StatusCode < 600 && all[0].StatusCode != 500
		served := len(all) == 1 && all[0].StatusCode == 200 && strings.Contains(all[0].body, `"id":"seen"`)
		if !refused && !served {
			t.Errorf("%s: %d answers: %+v", test.name, len(all), all)
		}
		for _, one := range all {
			if strings.Contains(one.body, "hidden") {
				t.Errorf("%s: the hidden request was answered: %s", test.name, one.body)
			}
		}
		if len(all) > 0 {
			t.Logf("%s: %s", test.name, all[0].Status)
		}
	}
	healthy(t)
	// Fields of a trailer are not headers.
	trailer := request{headers: []string{"Content-Length:", "Transfer-Encoding: chunked", "Trailer: Mcp-Session-Id"}}.String() +
		strings.TrimSuffix(chunk, "\r\n") + "Mcp-Session-Id: " + session + "\r\n\r\n"
	if all := exchange(t, trailer); len(all) != 1 || all[0].StatusCode != 400 {
		t.Errorf("a session in the trailer: %+v", all)
	}
}
