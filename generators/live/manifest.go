package live

import (
	_ "embed"
	"encoding/json"
)

//go:embed manifest.json
var manifestText string

// manifest returns what petrock's dev server answers to initialize and list requests, with [Prefix]
// and without the project's own generators: an object with instructions, capabilities, tools,
// resources, resourceTemplates and prompts. It is the same in all revisions. To regenerate it,
// run go test ./generators/devserver -run Manifest -update.
func manifest() json.RawMessage { return json.RawMessage(manifestText) }
