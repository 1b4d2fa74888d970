package mcpconfig

// cursor is Cursor.
func cursor() client {
	return client{
		name:     "Cursor",
		file:     ".cursor/mcp.json",
		key:      "mcpServers",
		comments: true,
		fields:   []string{"envFile"},
		expander: func(s *source, w *world) expander {
			return editorExpander(s.folder, w, nil)
		},
	}
}
