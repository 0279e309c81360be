package result

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/tools/spool"
)

func TestServerPage(t *testing.T) {
	for arguments, want := range map[string]string{
		`{}`:                                   "",
		`{"owner":"a","repo":"b"}`:             "",
		`{"page":2,"perPage":100,"owner":"a"}`: "page=2, perPage=100",
		`{"per_page":"50"}`:                    "per_page=50",
		`{"cursor":"` + strings.Repeat("x", 90) + `"}`: "cursor=" + strings.Repeat("x", 21) + "…",
		`{"limit":null,"offset":[1],"first":{}}`:       "",
		`{"start_at":"a\u0000b"}`:                      "start_at=ab",
		`[1,2]`:                                        "",
		`{"page":`:                                     "",
		``:                                             "",
	} {
		if got := ServerPage([]byte(arguments)); got != want {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
}

func TestServerHasMore(t *testing.T) {
	for page, want := range map[string]bool{
		`{"items":[1]}`:                                                              false,
		`{"items":[1],"next":"/items?page=2"}`:                                       true,
		`{"items":[1],"next":null,"has_more":false}`:                                 false,
		`{"items":[1],"has_more":true}`:                                              true,
		`{"items":[1],"pageInfo":{"hasNextPage":true}}`:                              true,
		`{"items":[1],"meta":{"next_cursor":""}}`:                                    false,
		`{"isLast":false,"values":[1]}`:                                              true,
		`{"isLast":true,"values":[1]}`:                                               false,
		`[{"next":"a"}]`:                                                             false,
		`{"items":[{"next":"a"}]}`:                                                   false,
		`{"nextPageToken":"x"`:                                                       true,
		`{"items":[1],"total":5000,"next_offset":20}`:                                true,
		`{"startAt":0,"total":5000,"issues":[1]}`:                                    true,
		`{"startAt":0,"total":20,"issues":[1]}`:                                      false,
		`{"Items":[1],"Count":20,"LastEvaluatedKey":{"id":{"S":"19"}}}`:              true,
		`{"Items":[1],"Count":20,"LastEvaluatedKey":{}}`:                             false,
		`{"IsTruncated":true,"NextContinuationToken":"t"}`:                           true,
		`{"IsTruncated":false}`:                                                      false,
		`{"value":[1],"@odata.nextLink":"https://x/?$skip=20"}`:                      true,
		`{"took":1,"hits":{"total":{"value":5000,"relation":"eq"},"hits":[1]}}`:      true,
		`{"took":1,"hits":{"total":{"value":20,"relation":"eq"},"hits":[1]}}`:        false,
		`{"total_count":5000,"incomplete_results":false,"items":[1]}`:                true,
		`{"data":[1],"pagination":{"page":1,"pages":25}}`:                            true,
		`{"data":[1],"pagination":{"page":25,"pages":25}}`:                           false,
		`{"data":[1],"meta":{"current_page":1,"last_page":25}}`:                      true,
		`{"files":[1],"truncated":true}`:                                             true,
		`{"results":[1],"total_results":"5000"}`:                                     true,
		`{"data":{"repo":{"issues":{"edges":[1],"pageInfo":{"hasNextPage":true}}}}}`: true,
		// HubSpot, HAL, Datadog, Salesforce, Twilio, Zendesk, ArcGIS, Algolia, Meilisearch.
		`{"results":[1],"paging":{"next":{"after":"200","link":"https://x"}}}`:                      true,
		`{"results":[1],"paging":{"next":{"after":null,"link":""}}}`:                                false,
		`{"_embedded":{"a":[1]},"_links":{"next":{"href":"https://x?page=2"},"self":{"href":"/"}}}`: true,
		`{"data":[1],"meta":{"page":{"after":"eyJ"}}}`:                                              true,
		`{"data":[1],"meta":{"page":{"after":null}}}`:                                               false,
		`{"records":[1],"done":false,"nextRecordsUrl":"/q/2"}`:                                      true,
		`{"records":[1],"totalSize":5000}`:                                                          true,
		`{"records":[1],"totalSize":20,"done":true}`:                                                false,
		`{"calls":[1],"next_page_uri":"/2010/Calls?Page=1"}`:                                        true,
		`{"calls":[1],"next_page_uri":null}`:                                                        false,
		`{"users":[1],"after_cursor":"x"}`:                                                          true,
		`{"features":[1],"exceededTransferLimit":true}`:                                             true,
		`{"hits":[1],"nbHits":5000,"nbPages":250,"page":0}`:                                         true,
		`{"hits":[1],"estimatedTotalHits":5000}`:                                                    true,
		// What only sounds like it.
		`{"items":[1],"after":"2026-01-01"}`:                   false,
		`{"items":[1],"next":{"step":"review","due":"today"}}`: false,
		`{"tasks":[1],"done":false}`:                           false,
		``:                                                     false,
	} {
		if got := serverHasMore([]byte(page), 20); got != want {
			t.Errorf("%s: %v", page, got)
		}
	}
}

// What is a part of a page of the server's is not told as if it were all there is.
func TestTheNoticeOfAServersOwnPage(t *testing.T) {
	v := View{
		Handle: "r_1", Totals: spool.Totals{Shape: spool.Array, Items: 100, Bytes: 40_000, ServerPage: "page=2, per_page=100"},
		Page: spool.Page{Number: 1, Size: 20, TotalPages: 5, TotalItems: 100, From: 1, To: 20, Complete: true, JSON: true},
	}
	for _, part := range []string{"Part 1 of 5 of the server's own page (page=2, per_page=100)", "items 1-20 of 100 on it", `Next part: result_page {"handle":"r_1","page":2}`, "before you ask the server for its next page"} {
		if got := v.Notice(); !strings.Contains(got, part) || strings.Contains(got, "in all") || len(got) > MaxNotice {
			t.Errorf("no %q in %q", part, got)
		}
	}
	v.Totals.ServerPage, v.Page.Text = "", []byte(`{"items":[1],"has_more":true}`)
	if got := v.Notice(); !strings.Contains(got, "of the server's own page: items") {
		t.Errorf("a result that says it has more: %q", got)
	}
	v.Page.Number, v.Page.From, v.Page.To = 5, 81, 100
	if got := v.Notice(); !strings.Contains(got, "the server's next page comes by a call of the tool itself") {
		t.Errorf("the last part: %q", got)
	}
	v.Page.Text = []byte(`{"items":[1]}`)
	if got := v.Notice(); !strings.Contains(got, "Page 5 of 5: items 81-100 of 100 (39.1 KiB in all)") {
		t.Errorf("a result of one page: %q", got)
	}
}

func FuzzServerPage(f *testing.F) {
	f.Add([]byte(`{"page":2,"pageInfo":{"hasNextPage":true}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if got := ServerPage(doc); len(got) > 100 {
			t.Errorf("%d bytes", len(got))
		}
		serverHasMore(doc, 20)
	})
}
