package appserve

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/plumbing/terminal"
)

// examples returns command lines of the program, for help.
func (d *Data) examples(lines ...string) string {
	return "  " + d.program + " " + strings.Join(lines, "\n  "+d.program+" ")
}

// untilInterrupted returns a context that ends when the user interrupts the command, so that it can
// remove its files.
func untilInterrupted(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
}

// parseSeq parses the number of an event.
func parseSeq(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, terminal.Usagef("%q is not the number of an event, such as 17; run log for the numbers", text)
	}
	return n, nil
}

// count returns a number of events as text.
func count(events int64) string {
	if events == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", events)
}

// shorten returns at most limit characters of a text, without control characters.
func shorten(text string, limit int) string {
	runes := []rune(text)
	if len(runes) > limit {
		runes = append(runes[:limit-1], '…')
	}
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '\uFFFD'
		}
	}
	return string(runes)
}

// oneLine joins the lines of an error, and shortens it.
func oneLine(text string) string { return shorten(strings.ReplaceAll(text, "\n", "; "), 300) }

// everySecond returns a function that prints its argument and the total at most once a second,
// until the argument is the total.
func everySecond(out io.Writer, format string, total int64) func(int64) {
	next := time.Now().Add(time.Second)
	return func(done int64) {
		if now := time.Now(); done < total && now.After(next) {
			next = now.Add(time.Second)
			fmt.Fprintf(out, format, done, total)
		}
	}
}
