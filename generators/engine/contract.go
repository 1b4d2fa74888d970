package engine

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/typecheck"
)

// updateContract plans the contract, and returns it.
func (e *Engine) updateContract(ctx context.Context, p *plan) (*contract.Contract, error) {
	u, err := e.newCommandUpdate(ctx, p)
	if err != nil {
		return nil, err
	}
	after, now := u.after, p.now
	if u.complete {
		after.Tools, after.Resources, after.ResourceTemplates, after.Prompts = now.Tools, now.Resources, now.ResourceTemplates, now.Prompts
		after.Capabilities = now.Capabilities
		p.breaks = contract.Breaking(u.before, after)
	} else {
		after.Add(now.Contract) // keep entries of packages with errors
	}
	if err := u.checkAccepted(); err != nil {
		return nil, err
	}
	_, statErr := e.root.Stat(contract.File)
	_, sumErr := e.root.Stat(SumFile)
	if isMissing(statErr) && sumErr == nil && len(now.Commands) > 0 && len(p.Accept) == 0 && !p.isRevert() && p.action != actionDestroy {
		p.contractLost = fmt.Sprintf("%s is missing, so petrock cannot tell whether stored events are still readable; restore it from version control, or record the current fields with %s",
			contract.File, e.Call("sync", "accept", slices.Sorted(maps.Keys(now.Commands))[:1]))
	} else if err := e.updateCommands(ctx, u); err != nil {
		return nil, err
	}
	if text, known := e.instructions(e.before.With(p.texts)); known && (p.action == actionSync || p.action == actionEdit) {
		after.Instructions = text
	}
	if p.Saved {
		after.Commands = u.before.Commands
	}
	p.texts[contract.File], err = after.Encode()
	return after, err
}

// revertContract plans to undo the change that an operation made to the contract. It keeps later
// changes.
func (e *Engine) revertContract(opened *journal.Journal, p *plan, record journal.Record) error {
	read := func(hash string) (*contract.Contract, error) {
		text, err := opened.Contents(hash)
		if err != nil {
			return nil, err
		}
		return contract.Parse(text)
	}
	before, beforeErr := read(record.Before)
	after, afterErr := read(record.After)
	now, err := e.readContract(p.texts)
	if err := errors.Join(beforeErr, afterErr, err); err != nil {
		return err
	}
	text, err := now.Revert(before, after).Encode()
	p.texts[contract.File] = text
	return err
}

// instructions returns the instructions of the server, if they are string literals.
func (e *Engine) instructions(view *typecheck.View) (text string, known bool) {
	files := view.Files(path.Join("cmd", e.project.Name))
	for _, file := range files {
		for pair := range nodesOf[*ast.KeyValueExpr](file.Syntax) {
			if key, ok := pair.Key.(*ast.Ident); !ok || key.Name != "Instructions" {
				continue
			}
			value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(pair.Value))
			if err != nil || value.Value == nil || value.Value.Kind() != constant.String {
				return "", false // computed at run time
			}
			return constant.StringVal(value.Value), true
		}
	}
	return "", len(files) > 0
}
