package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// FleetSettings are the values of table [fleet].
type FleetSettings struct {
	// URL is a list of addresses of one server's or cluster's, nats:// or tls://, with commas between; "" means no fleet.
	URL string `json:"url"`
	// Credentials is the path of a file, "" for none.
	Credentials string `json:"credentials"`
	// Host is the name of this host among the others, "" for the system's own.
	Host string `json:"host"`
}

// fleetKeys are the keys of [fleet], for what hosts share.
var fleetKeys = []*Key{
	{
		Name: "url", Type: TypeNATS, Project: ProjectNever, example: `"nats://10.0.0.5:4222"`,
		Doc: "Server of NATS with JetStream in which hosts share history, budgets and rates; tls:// encrypts, several addresses have commas between.",
		set: func(s *Settings, v any) { s.Fleet.URL = v.(string) },
	},
	{
		Name: "credentials", Type: TypeFile, Project: ProjectNever, example: `"/home/me/.config/plimsoll/fleet.creds"`,
		Doc: "File of mode 0600 with the credentials for it: those of a NATS user, a seed, user:password or a token.",
		set: func(s *Settings, v any) { s.Fleet.Credentials = v.(string) },
	},
	{
		Name: "host", Type: TypeText, Project: ProjectNever, example: `"build-3"`,
		Doc: "Name of this host where all are shown, as in plimsoll top; empty takes the one that the system has.",
		set: func(s *Settings, v any) { s.Fleet.Host = v.(string) },
	},
}

// parseNATS returns a list of addresses without spaces. A password has its own place, since addresses are shown.
func (k *Key) parseNATS(w written) (any, error) {
	if !w.isText() || len(w.text) > maxText {
		return nil, k.wrong(w, "a URL", k.example)
	}
	list := strings.Split(strings.TrimSpace(w.text), ",")
	if len(list) == 1 && list[0] == "" {
		return "", nil
	}
	for i, one := range list {
		list[i] = strings.TrimSpace(one)
		if err := checkNATS(list[i]); err != nil {
			return nil, &misfit{err.Error(), "write it like " + k.example}
		}
	}
	return strings.Join(list, ","), nil
}

func checkNATS(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "":
		return errors.New("an address of a fleet has a scheme, a host and a port")
	case u.Scheme != "nats" && u.Scheme != "tls":
		return fmt.Errorf("%s:// is no scheme of NATS", u.Scheme)
	case u.User != nil:
		return fmt.Errorf("the address of %s has a user in it; the credentials belong into the file that fleet.credentials names", u.Host)
	}
	return nil
}
