package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/petrock/petrock/core/app/eventlog"
)

// View implements [eventlog.Store]. The view is an [eventlog.TypeView]. It uses a connection of its
// own.
func (s *Store) View(ctx context.Context, f func(eventlog.View) error) error {
	if s.closed.Load() {
		return errClosed
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.name, marked(err))
	}
	defer closeConn(conn)
	v := view{ctx: ctx, s: s, conn: conn}
	if _, err = conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"); err == nil {
		err = conn.QueryRow(ctx, s.sql.last).Scan(&v.last, nil) // the first read fixes the moment
	}
	if err == nil {
		if err = f(v); err == nil || !conn.IsClosed() {
			return err
		}
	}
	if conn.IsClosed() {
		err = errors.Join(err, errLostConnection)
	}
	return fmt.Errorf("read %s: %w", s.name, marked(err))
}

// A view implements [eventlog.TypeView] on a connection within a transaction.
type view struct {
	ctx  context.Context
	s    *Store
	conn *pgx.Conn
	last int64
}

func (v view) Records(after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		after := max(after, 0)
		next := func(after int64, rows int) ([]eventlog.Record, error) {
			return v.s.page(v.ctx, v.conn, after, v.last, rows)
		}
		page, err := next(after, firstRows)
		v.s.yieldPages(page, err, after, v.last, next, yield)
	}
}

func (v view) Get(name string) ([]byte, error) { return v.s.document(v.ctx, v.conn, name) }
func (v view) Names(prefix string) ([]string, error) {
	return v.s.documentNames(v.ctx, v.conn, prefix)
}

func (v view) Documents(prefix, after string) iter.Seq2[eventlog.Document, error] {
	return documentPages(after, func(after string) ([]eventlog.Document, error) {
		return v.s.documentPage(v.ctx, v.conn, prefix, after)
	})
}

func (v view) Types(after int64) ([]eventlog.TypeCount, error) {
	rows, err := v.conn.Query(v.ctx, v.s.sql.types, after)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[eventlog.TypeCount])
}

func (v view) OfType(eventType string, version int) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		rows, err := v.conn.Query(v.ctx, v.s.sql.ofType, eventType, version)
		if err != nil {
			yield(0, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			var seq int64
			if err := rows.Scan(&seq); !yield(seq, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(0, err)
		}
	}
}

func (v view) Record(seq int64) (eventlog.Record, error) {
	page, err := v.s.page(v.ctx, v.conn, seq-1, seq, 1)
	if err == nil && len(page) == 0 {
		err = fmt.Errorf("event %d does not exist", seq)
	}
	if err != nil {
		return eventlog.Record{}, err
	}
	return page[0], nil
}
