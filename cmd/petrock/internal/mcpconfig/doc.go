// Package mcpconfig reads the files in which MCP clients keep their servers, each by the rules of the client that
// it belongs to. It starts nothing and connects to nothing.
//
//	config, err := mcpconfig.Find(".", mcpconfig.Options{})
//	…
//	server, err := config.Server("orchard") // the program to start, or the address to call
//
// These are the files of a project, in the order in which they count where several name the same server:
//
//	.mcp.json          Claude Code   mcpServers  ${VAR} ${VAR:-default}
//	.crush.json        Crush         mcp         $VAR ${VAR} ${VAR:-default} ${VAR:?message} …
//	crush.json         Crush         mcp         the same
//	.cursor/mcp.json   Cursor        mcpServers  ${env:VAR} ${workspaceFolder} ${userHome} …
//	.vscode/mcp.json   VS Code       servers     the same, and ${input:ID}
//
// The first comes first because most clients read it, the last comes last because it may have to ask somebody. Those of Cursor
// and VS Code may have comments and trailing commas in them. A key that stands twice in one object is refused in all of them; fields
// that nobody knows are not.
//
// A server that is wrong is in nobody's way: it carries its own error, a [Problem] or several, and the others are
// as good as they were. So is a file that cannot be read. No error has the value of a variable in it, of an input, or of
// a field that variables are filled in to.
//
// Variables are filled in when a server is asked for, not before: nobody is asked for the inputs of a server that is not wanted. What
// has been filled in is not looked at again: a value with ${…} in it stays what it is. Where clients put up with a
// variable that is not set, and start the server with the text of the reference or with nothing in its place, this package calls it a
// problem; in the files of Crush, which documents that it is the empty string, it is that.
//
// The files name programs to start. Whoever may write them decides what runs, in the folders above as well.
package mcpconfig
