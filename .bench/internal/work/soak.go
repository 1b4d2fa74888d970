package work

// Counted is what the tool count takes: so many words of progress, of so many bytes, so long apart.
type Counted struct {
	To    int `json:"to"`
	Bytes int `json:"bytes,omitempty"`
	MS    int `json:"ms,omitempty"`
}

// Touched is what the tool touch takes.
type Touched struct {
	URI string `json:"uri"`
}
