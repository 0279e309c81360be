package profile

import (
	"bytes"
	"encoding/json"
	"errors"
)

var errMember = errors.New("an object was expected")

// maxNesting bounds how deep setMember descends into objects.
const maxNesting = 32

// setMember returns a JSON object with the member at path set to a string. Everything else stays as it is, also the order: in settings of
// some tools the last of several matching rules decides.
func setMember(object []byte, path []string, value string) ([]byte, error) {
	if len(path) > maxNesting {
		return nil, errMember
	}
	members, err := readMembers(object)
	if err != nil {
		return nil, err
	}
	at := -1
	for i := range members {
		if members[i].name == path[0] {
			at = i // of doubles the last counts
		}
	}
	if at < 0 {
		at = len(members)
		members = append(members, member{name: path[0], value: json.RawMessage("{}")})
	}
	if len(path) == 1 {
		if members[at].value, err = json.Marshal(value); err != nil {
			return nil, err
		}
	} else if members[at].value, err = setMember(members[at].value, path[1:], value); err != nil {
		return nil, err
	}
	return writeMembers(members)
}

type member struct {
	name  string
	value json.RawMessage
}

func readMembers(object []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errMember
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, errMember
		}
		m := member{name: name.(string)} // a key is a string, or Token fails
		if err := dec.Decode(&m.value); err != nil {
			return nil, errMember
		}
		members = append(members, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, errMember
	}
	return members, nil
}

func writeMembers(members []member) ([]byte, error) {
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), m.value...)
	}
	return append(out, '}'), nil
}
