package main

import (
	"strings"

	"github.com/petrock/petrock/core/project"
)

// serveLong is what the help of serve says.
func serveLong(keysRequired bool) string {
	callers := `On ` + defaultAddr + `, where it listens unless --addr says otherwise, every program of this machine may call, and the web
pages of no other machine. With keys in ` + keyVariable() + `, several with commas between them, only
those who send one of them may call, as X-Api-Token or as Authorization: Bearer. Anywhere else it wants
keys, or --behind-proxy: there is no TLS here, and who listens on the way reads a key.`
	if keysRequired {
		callers = `It does not start without a key in ` + keyVariable() + `, or several with commas between them. Only those who send
one of them may call, as X-Api-Token or as Authorization: Bearer. It listens on ` + defaultAddr + ` unless --addr says
otherwise. There is no TLS here, and who listens on the way reads a key: elsewhere, put it behind a proxy.`
	}
	return `Serve MCP over HTTP (streamable HTTP, every revision of the protocol) at /mcp, for any number of clients,
until it is told to stop by an interrupt or SIGTERM. Calls in flight then have the time of --grace to end; a second
signal ends it at once.

` + callers + `

Processes behind one balancer need the same key of 16 characters or more in ` + project.Variable(programName, "state_key") + `: it signs what
clients carry from request to request while tools ask them questions. Without it each process has its own.`
}

// serveExample is what the help of serve shows.
func serveExample(keysRequired bool) string {
	const newKey = "=$(openssl rand -hex 32)"
	lines := []string{
		programName + " serve",
		keyVariable() + newKey + " " + programName + " serve --addr :8181",
	}
	if keysRequired {
		lines = []string{
			"export " + keyVariable() + newKey,
			programName + " serve",
			programName + " serve --addr :8181",
		}
	}
	lines = append(lines,
		programName+" serve --addr :8181 --behind-proxy --public-url https://mcp.example.com/mcp",
		programName+" serve --allow-origin https://app.example.com")
	return "  " + strings.Join(lines, "\n  ")
}

// frontUsage is what the help says of --behind-proxy.
func frontUsage(keysRequired bool) string {
	if keysRequired {
		return "TLS is handled in front: listen anywhere; keys are asked for all the same"
	}
	return "TLS and identity are handled in front: listen anywhere, without keys too"
}
