// Package strictjson reads JSON the way a protocol needs it read: exactly.
//
// Where encoding/json is generous, this package is not:
//
//   - a key fills a field only if it is spelled the same, letter case included;
//   - a key that stands twice in one object is an error, at every depth;
//   - a string that is not valid UTF-8 is an error;
//   - a value nested deeper than [MaxDepth] is an error, found before any stack grows.
//
// [Check] tests a whole value. [Object] and [Array] walk one level of it and hand out the parts as
// slices of the input, so that a message can be taken apart without being copied or decoded. A
// [Decoder] fills a Go value; one from [NewExactDecoder] refuses what it would have to ignore or
// leave out. All of them read the input in one pass and keep nothing of it.
//
// What has been checked need not be checked again: [Members], [Elements] and
// [Decoder.DecodeChecked] take that for granted and are quicker for it.
package strictjson
