// Package place puts a folder of files where it belongs, whole or not at all.
//
// The folder is prepared in a hidden one and then moved. Where nothing is yet, that is one
// rename, and the hidden folder is beside the destination. Where an empty folder is, it stays
// the folder it is, for whoever works in it: what was prepared in a hidden folder inside is moved
// out of it, one rename for each name at the top, and a move that is cut short is finished by
// the next [Open].
//
// A process that is killed leaves its hidden folder; the next one that comes there removes it.
package place
