// Package mcpcli makes the commands that call an MCP server from a terminal: tools, call, resources, read, prompts and prompt. A
// server uses them to call itself, and petrock uses them to call any server: a [Target] says which.
//
// Output is text on a terminal, and JSON anywhere else or with --json. Control characters in text from a server never reach the
// terminal, and files that a server sends are never written outside the output folder.
//
// The exit codes are those of package terminal: 0 success, 1 failure, 2 usage error, 3 server not reached.
package mcpcli
