package gen

import "strings"

// isInitialism reports whether Go writes a word in capitals by convention. Words of plain
// English are not here, such as ram and sip. A new one changes the identifiers of new components
// and nothing of old ones, but for plurals that were written by hand: see [FromGo].
func isInitialism(word string) bool {
	switch word {
	case "acl", "amqp", "api", "ascii", "cpu", "css", "csv", "db", "dns", "eof", "gid", "gpu", "guid",
		"html", "http", "https", "id", "ip", "json", "jwt", "llm", "mcp", "pdf", "qps", "rpc", "sdk",
		"sla", "smtp", "sql", "sse", "ssh", "svg", "tcp", "tls", "ttl", "udp", "ui", "uid", "uri",
		"url", "utf8", "uuid", "vm", "xml", "xmpp", "xsrf", "xss", "yaml":
		return true
	}
	return false
}

// isPlural reports whether a word is an initialism with an s, such as urls.
func isPlural(word string) bool {
	one, ok := strings.CutSuffix(word, "s")
	return ok && isInitialism(one) && !isInitialism(word)
}
