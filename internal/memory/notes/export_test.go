package notes

import "errors"

// Pending reports whether the file differs from the text in force.
func (p *Profile) Pending() (bool, error) {
	draft, err := p.Draft()
	if _, full := errors.AsType[*FullError](err); full {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	c, err := p.readConfirmed()
	return draft != c.Text, err
}
