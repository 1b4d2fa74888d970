package devserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
)

// TryInput is the input of try. The command line of the server checks the steps.
type TryInput struct {
	Steps []map[string]json.RawMessage `json:"steps"` // Keys: advance (48h) or run (worker) or call (tool) with arguments, actor
	Common
}

// Try runs steps on a copy of the data: calls, workers, time. Effects outside of it are real.
func (t *Tools) Try(ctx context.Context, in TryInput) (*mcp.ToolResult, error) {
	steps, err := strictjson.Marshal(in.Steps)
	if err != nil {
		return nil, err
	}
	out, err := t.runServer(ctx, in.Dir, steps, "try", "-", fmt.Sprintf("--all=%t", in.Detail))
	if err != nil {
		return Answer(ctx, nil, err)
	}
	if !in.Detail && len(out) > 2*maxAnswer {
		out = strictjson.Clip(out, 2*maxAnswer) + "\nNext: pass fewer steps, or detail for everything."
	}
	return mcp.TextResult(out), nil
}

// DataInput is the input of data.
type DataInput struct {
	Action DataAction `json:"action,omitempty"` // Default: workers
	Worker string     `json:"worker,omitempty"`
	Seq    int64      `json:"seq,omitempty"`  // retry: default all
	File   string     `json:"file,omitempty"` // Default: a new backup
	Common
}

// A DataAction is what data does.
type DataAction string

// The actions of data.
const (
	DataWorkers DataAction = "workers"
	DataRetry   DataAction = "retry"
	DataReset   DataAction = "reset"
	DataBackup  DataAction = "backup"
	DataRestore DataAction = "restore"
)

// Data lists workers, retries what they set aside, resets their fields; backs up or restores.
func (t *Tools) Data(ctx context.Context, in DataInput) (*mcp.ToolResult, error) {
	args, err := in.args()
	if err == nil && in.Action == DataBackup {
		err = t.backupFolder(in.Dir)
	}
	out := ""
	if err == nil {
		out, err = t.runServer(ctx, in.Dir, nil, args...)
	}
	if err != nil {
		return Answer(ctx, nil, err)
	}
	out, _, _ = strings.Cut(out, "\n\nNext:") // a command for a terminal
	return mcp.TextResult(cmp.Or(out, "no data yet")), nil
}

// backups is the folder of backups in a project. Git ignores it.
const backups = ".petrock/backups"

// backupFolder creates the folder of backups.
func (t *Tools) backupFolder(dir string) error {
	found, err := t.options.Find(dir)
	if err != nil {
		return err
	}
	return os.MkdirAll(filepath.Join(found.Root, filepath.FromSlash(backups)), 0o700)
}

// args returns the arguments of the server's command line.
func (in *DataInput) args() ([]string, error) {
	in.Action = cmp.Or(in.Action, DataWorkers)
	isFile := in.Action == DataBackup || in.Action == DataRestore
	if in.File == "" && in.Action == DataBackup {
		in.File = backups + "/" + time.Now().UTC().Format("20060102-150405") + ".jsonl.gz"
	}
	switch {
	case isFile && !filepath.IsLocal(in.File):
		return nil, terminal.Usagef("data: action %s requires file, a path in the project such as %s/NAME.jsonl.gz", in.Action, backups)
	case !isFile && in.Action != DataWorkers && in.Worker == "":
		return nil, terminal.Usagef("data: action %s requires worker, such as posts/digest", in.Action)
	}
	switch in.Action {
	case DataBackup:
		return []string{"backup", "./" + in.File}, nil
	case DataRestore:
		return []string{"restore", "--replace", "./" + in.File}, nil
	case DataReset:
		return []string{"workers", "reset", "--", in.Worker}, nil
	case DataRetry:
		if in.Seq != 0 {
			return []string{"workers", "retry", "--", in.Worker, fmt.Sprint(in.Seq)}, nil
		}
		return []string{"workers", "retry", "--all", "--", in.Worker}, nil
	}
	return []string{"workers", fmt.Sprintf("--all=%t", in.Detail)}, nil
}
