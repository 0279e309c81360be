package scripted

// content holds a Messages request to what Options.Strict adds.
func (p *Provider) content(r *Request) error {
	return nil
}
