package typecheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// CommandOptions configure [RunCommand].
type CommandOptions struct {
	Dir   string    // the working directory
	Env   []string  // the environment; default that of this process
	Stdin io.Reader // default empty
}

// RunCommand runs a program and returns its output. When the context ends, the program is interrupted,
// and killed if it does not exit; the error is then the context's.
func RunCommand(ctx context.Context, o CommandOptions, program string, args ...string) (stdout, stderr []byte, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = o.Dir, o.Env, o.Stdin
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, exec.ErrNotFound) && program == "go":
		err = errors.New("there is no go command in PATH; install Go, see https://go.dev/dl")
	case err != nil && len(args) > 0:
		err = fmt.Errorf("%s %s: %w", program, args[0], err)
	}
	return out.Bytes(), errOut.Bytes(), err
}
