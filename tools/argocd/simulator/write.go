package simulator

func writes() []written {
	return []written{
		{"POST /api/v1/applicationsets/generate", generateSet},
	}
}

func (c *call) refresh(f found, _ string) (found, error) { return f, nil }

func generateSet(c *call) error { return refuse(unimplemented, "unimplemented") }
