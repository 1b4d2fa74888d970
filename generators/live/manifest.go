package live

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/core/strictjson"
)

//go:embed manifest.json
var manifest []byte

// A Manifest is what petrock's dev server answers to initialize and list requests of revision
// 2025-11-25, with the tool prefix petrock_ and without the project's own generators. Its lists are the
// same in revision 2026-07-28.
type Manifest struct {
	Instructions      string                     `json:"instructions"`
	Capabilities      map[string]json.RawMessage `json:"capabilities"`
	Tools             []json.RawMessage          `json:"tools"`
	Resources         []json.RawMessage          `json:"resources"`
	ResourceTemplates []json.RawMessage          `json:"resourceTemplates"`
	Prompts           []json.RawMessage          `json:"prompts"`
}

// ReadManifest returns the embedded manifest. To derive it again, run
// go test ./generators/devserver -run Manifest -update.
func ReadManifest() (*Manifest, error) {
	m := &Manifest{}
	if err := strictjson.Unmarshal(manifest, m); err != nil {
		return nil, fmt.Errorf("read manifest.json: %w", err)
	}
	return m, nil
}
