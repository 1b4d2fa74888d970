// Package appmcp offers an app to MCP clients: its commands and queries as tools, its log, features and workers as
// resources.
package appmcp
