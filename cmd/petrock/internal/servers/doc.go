// Package servers makes the commands that call any MCP server: tools, call, resources, read, prompts, prompt and doctor. A server is a
// name from a configuration file (see package mcpconfig), a URL, or a command after --.
package servers
