package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/petrock/petrock/core/strictjson"
)

// readToolResult reads the result of a tool, which is checked. What most results are made of is read without a detour.
func readToolResult(raw json.RawMessage) (*ToolResult, error) {
	if strictjson.First(raw) != '{' {
		return nil, fmt.Errorf("it must be an object, got %s", strictjson.Describe(raw))
	}
	result := &ToolResult{}
	err := strictjson.Members(raw, func(key, value []byte) error {
		switch string(key) {
		case "content":
			blocks, err := readBlocks(value)
			result.Content = blocks
			return err
		case "structuredContent":
			result.StructuredContent = slices.Clip(value)
		case "isError":
			result.IsError = string(value) == "true"
		case "_meta":
			return readMeta(value, &result.Meta)
		}
		return nil
	})
	return result, err
}

// readMeta reads what is attached to a result, without who gave it, which the client knows.
func readMeta(raw json.RawMessage, meta *Meta) error {
	if strictjson.First(raw) != '{' {
		return nil
	}
	own := 0
	_ = strictjson.Members(raw, func(key, _ []byte) error {
		if string(key) != metaServerInfo {
			own++
		}
		return nil
	})
	if own == 0 {
		return nil
	}
	err := strictjson.Unmarshal(raw, meta)
	delete(*meta, metaServerInfo)
	return err
}

// readBlocks reads content, which is checked. A block of a kind that is not known is kept as it is.
func readBlocks(raw json.RawMessage) ([]Content, error) {
	switch strictjson.First(raw) {
	case '[':
	case 'n':
		return nil, nil
	default:
		return nil, fmt.Errorf("content must be a list, got %s", strictjson.Describe(raw))
	}
	blocks := []Content{}
	err := strictjson.Elements(raw, func(value []byte) error {
		block, err := readBlock(value)
		if err != nil {
			return fmt.Errorf("content[%d]: %w", len(blocks), err)
		}
		blocks = append(blocks, block)
		return nil
	})
	return blocks, err
}

// readBlock reads one block: plain text at once.
func readBlock(raw json.RawMessage) (Content, error) {
	if strictjson.First(raw) != '{' {
		return nil, fmt.Errorf("must be an object, got %s", strictjson.Describe(raw))
	}
	var text string
	plain, kind := true, ""
	_ = strictjson.Members(raw, func(key, value []byte) error {
		switch string(key) {
		case "type":
			if string(value) == `"text"` {
				kind = "text"
			} else {
				kind, _ = strictjson.Unquote(value)
			}
		case "text":
			var ok bool
			text, ok = strictjson.Unquote(value)
			plain = plain && ok
		default:
			plain = false
		}
		return nil
	})
	if plain && kind == "text" {
		return Text{Text: text}, nil
	}
	block, err := decodeContent(raw)
	if unknown := (*unknownContentError)(nil); errors.As(err, &unknown) {
		return UnknownContent{Type: kind, Raw: slices.Clip(raw)}, nil
	}
	return block, err
}
