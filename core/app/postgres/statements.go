package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// statements are the SQL statements for the tables of a schema.
type statements struct {
	version, known, head, stamp, last, page, find, get, names string

	// A change is one of the first two, which have the parameters $1 to $3, then put and remove if
	// needed, and then insert, insertAll or nothing.
	move, keep, put, remove, insert, insertAll, nothing string

	update, vacuum string

	types, ofType, documents string

	// Logs of version 1 have no causes.
	oldPage, oldFind, addCause, setVersion string
}

func newStatements(schema string) statements {
	in := func(sql string) string {
		return strings.ReplaceAll(sql, "{schema}", pgx.Identifier{schema}.Sanitize())
	}
	format := func(sql string) string { // for fmt.Sprintf
		return strings.ReplaceAll(sql, "{schema}", strings.ReplaceAll(pgx.Identifier{schema}.Sanitize(), "%", "%%"))
	}
	const oldColumns = "seq, id, at, type, version, data, key, result, actor"
	const columns = oldColumns + ", cause"
	return statements{
		version: in("SELECT version, writer FROM {schema}.head"),
		known:   in("SELECT commits, last, (SELECT id FROM {schema}.log WHERE seq = $1) FROM {schema}.head"),
		head:    in("SELECT commits, last, CASE WHEN writer = $1 THEN base ELSE commits END, writer = $1, tableoid::bigint FROM {schema}.head"),
		stamp:   in("SELECT CASE WHEN writer = $1 THEN base ELSE commits END, tableoid::bigint FROM {schema}.head"),
		last:    in("SELECT last, tableoid::bigint FROM {schema}.head"),
		page:    in("SELECT " + columns + " FROM {schema}.log WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3"),
		find:    in("SELECT " + columns + " FROM {schema}.log WHERE key = ANY($1::bytea[])"),
		get:     in("SELECT value FROM {schema}.documents WHERE name = $1"),
		names:   in("SELECT name FROM {schema}.documents WHERE name >= $1 AND name < $2 ORDER BY name"),

		move: in("WITH moved AS (UPDATE {schema}.head SET commits = commits + 1, last = $3," +
			" base = CASE WHEN writer = $2 THEN base ELSE commits END, writer = $2 WHERE commits = $1 RETURNING 1)"),
		keep: "WITH moved AS (SELECT $1::bigint, $2::text, $3::bigint)",
		put: format(", put AS (INSERT INTO {schema}.documents (name, value) SELECT * FROM unnest($%d::text[], $%d::bytea[])" +
			" WHERE EXISTS (SELECT FROM moved) ON CONFLICT (name) DO UPDATE SET value = excluded.value)"),
		remove: format(", removed AS (DELETE FROM {schema}.documents WHERE name = ANY($%d::text[]) AND EXISTS (SELECT FROM moved))"),
		insert: in(" INSERT INTO {schema}.log (" + columns + ") SELECT $4::bigint, $5::bytea, $6::timestamptz," +
			" $7::text, $8::integer, $9::bytea, $10::bytea, $11::bytea, $12::bytea, $13::bytea FROM moved"),
		insertAll: in(" INSERT INTO {schema}.log (" + columns + ") SELECT records.* FROM moved, unnest($4::bigint[], $5::bytea[], $6::timestamptz[]," +
			" $7::text[], $8::integer[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[], $13::bytea[]) AS records"),
		nothing: " SELECT 1 FROM moved",

		update: in("UPDATE {schema}.log SET (id, at, type, version, data, key, result, actor, cause) =" +
			" (r.id, r.at, r.type, r.version, r.data, r.key, r.result, r.actor, r.cause)" +
			" FROM unnest($1::bigint[], $2::bytea[], $3::timestamptz[], $4::text[], $5::integer[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[])" +
			" AS r (" + columns + ") WHERE log.seq = r.seq"),
		vacuum: in("VACUUM (FULL) {schema}.log, {schema}.documents"),

		types:  in("SELECT type, version, count(*), min(seq), max(seq) FROM {schema}.log WHERE seq > $1 GROUP BY type, version"),
		ofType: in("SELECT seq FROM {schema}.log WHERE type = $1 AND version = $2 ORDER BY seq"),

		documents: in("SELECT name, value FROM {schema}.documents WHERE name >= $1 AND name < $2 AND name IS DISTINCT FROM $3 ORDER BY name LIMIT $4"),

		oldPage:    in("SELECT " + oldColumns + ", NULL::bytea FROM {schema}.log WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3"),
		oldFind:    in("SELECT " + oldColumns + ", NULL::bytea FROM {schema}.log WHERE key = ANY($1::bytea[])"),
		addCause:   in("ALTER TABLE {schema}.log ADD COLUMN IF NOT EXISTS cause bytea"),
		setVersion: in("UPDATE {schema}.head SET version = $1"),
	}
}
