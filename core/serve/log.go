package serve

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/terminal"
)

// logFlags are the logging flags of the commands mcp and serve.
type logFlags struct {
	level, format string
	arguments     bool
}

func (l *logFlags) add(cmd *cobra.Command, level string) {
	flags := cmd.Flags()
	flags.StringVar(&l.level, "log-level", level, "log level: debug, info (a line for each call), warn or error")
	flags.StringVar(&l.format, "log-format", "text", "log format: text or json")
	flags.BoolVar(&l.arguments, "log-arguments", false, "also log the arguments of calls, which may be private")
}

// open returns the log, and makes it the default logger.
func (l *logFlags) open(errOut io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, terminal.Usagef("--log-level %q: use debug, info, warn or error", l.level)
	}
	o := &slog.HandlerOptions{Level: level}
	var log *slog.Logger
	switch l.format {
	case "text":
		log = slog.New(slog.NewTextHandler(errOut, o))
	case "json":
		log = slog.New(slog.NewJSONHandler(errOut, o))
	default:
		return nil, terminal.Usagef("--log-format %q: use text or json", l.format)
	}
	slog.SetDefault(log)
	return log, nil
}

// announce prints a line, or logs it if the log format is JSON.
func (l *logFlags) announce(log *slog.Logger, errOut io.Writer, name, line string) {
	if l.format == "json" {
		log.Info(line)
		return
	}
	fmt.Fprintf(errOut, "%s: %s\n", name, line)
}
