package work

import (
	"context"
	"os"
	"slices"
	"time"
)

// WaitFlag is the argument that makes a server offer slow and busy beside add. Without
// it, a server has the one tool that all other figures are about.
const WaitFlag = "--wait-tools"

// Stopped is the line that Slow writes to standard error when its context ends before
// its time is up. It is how the benchmark sees when a cancellation reached the tool.
const Stopped = "slow: stopped\n"

// WaitInput is what slow and busy take.
type WaitInput struct {
	MS int `json:"ms" jsonschema:"How long, in milliseconds"`
}

// WaitOutput is what slow and busy give back.
type WaitOutput struct {
	MS int `json:"ms" jsonschema:"How long it should have taken, in milliseconds"`
}

// Waits tells whether the program was started with [WaitFlag].
func Waits() bool {
	return slices.Contains(os.Args[1:], WaitFlag)
}

// Slow waits for its time or for the end of ctx.
func Slow(ctx context.Context, in WaitInput) (WaitOutput, error) {
	timer := time.NewTimer(time.Duration(in.MS) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return WaitOutput(in), nil
	case <-ctx.Done():
		os.Stderr.WriteString(Stopped)
		return WaitOutput{}, ctx.Err()
	}
}

// Busy computes for its time, whatever becomes of the call.
func Busy(in WaitInput) WaitOutput {
	end := time.Now().Add(time.Duration(in.MS) * time.Millisecond)
	x := uint64(1)
	for time.Now().Before(end) {
		for range 10_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	sink = x
	return WaitOutput(in)
}

// sink keeps the compiler from leaving the computation out.
var sink uint64
