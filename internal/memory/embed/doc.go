// Package embed finds texts by what they mean: a service turns texts into vectors, which are kept in a file and compared one by one.
//
//	c, err := embed.NewClient(embed.ClientOptions{URL: "http://127.0.0.1:11434/v1", Model: "nomic-embed-text"})
//	vectors, err := c.Embed(ctx, texts)               // one for each text, of unit length, a byte a dimension
//
//	f := embed.File{Root: root, Name: "vectors"}
//	err = f.Append(ctx, c.Model(), entries, nil)
//	seen, err := f.Scan(ctx, c.Model(), func(e embed.Entry) { … query.Cosine(e.Vector) … })
//
// It is optional: package memory searches by words, and by meaning beside them where it is given a [Client]. What leaves this machine is
// the texts that are handed to [Client.Embed], and nothing else.
//
// # The service
//
// Any server of POST /v1/embeddings as OpenAI has it: Ollama, llama.cpp, vLLM, LM Studio, a provider. A request has at most [MaxBatch]
// texts of at most [MaxText] bytes each, and a time; an answer has a bound in bytes. Redirects are not followed, for they would carry texts and key to a host
// that nobody named, and a key is sent over https or to this machine only. After three failures in a row a service is left alone for half a minute,
// then for twice as long each time, up to ten minutes ([ErrResting]). No error holds the key or what the service answered.
//
// # The file
//
// A head that names the model and the number of dimensions, and records of one size: the id of a text and its version, a scale, a signed byte for
// each dimension, and a CRC-32C. A writer that dies leaves at most a torn record at the end, which the next one cuts off; a wrong byte costs its own
// record, which is passed over and can be made again. What is to go is left out of a new file that takes the place of the old one.
// Vectors of another model, or of other dimensions, are not read, and the next [File.Append] replaces the file. Of several processes one writes at a time (a lock
// in a file beside it); readers wait for nobody.
//
// Eight bits are enough for a ranking: the cosine of two vectors of 384 dimensions is wrong by about 0.002. A scan reads the file in pieces of
// 256 KiB and keeps nothing: 100,000 vectors of 384 dimensions are 41 MB of disk, which the system keeps in its cache, and no heap.
//
// # Concurrency
//
// A [Client] and a [File] may be used by many goroutines.
//
// # How it is tested
//
// The answers of a service and the bytes of a file are fuzzed; files are cut at every byte and have every byte changed; services that are slow, endless,
// broken, forbidden or elsewhere are played. In the gate the vectors come from a stand-in that hashes words, which says what it is in its
// model's name; `go run ./bench memory --embed URL` measures a real model.
package embed
