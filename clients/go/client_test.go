package webhooks

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"
	"time"
)

type received struct {
	header http.Header
	body   []byte
}

// receiver keeps what it gets; it answers with these statuses first, then with 204.
func receiver(t *testing.T, retryAfter string, statuses ...int) (*httptest.Server, chan received) {
	got := make(chan received, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status := http.StatusNoContent
		if len(statuses) > 0 {
			status, statuses = statuses[0], statuses[1:]
		}
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		got <- received{r.Header, body}
	}))
	t.Cleanup(server.Close)
	return server, got
}

func client(t *testing.T, address string, waits *[]time.Duration) *Client {
	client, err := NewClient(address, "key")
	if err != nil {
		t.Fatal(err)
	}
	client.sleep = func(_ context.Context, wait time.Duration) error {
		*waits = append(*waits, wait)
		return nil
	}
	return client
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestWithDispatcher needs a running dispatcher, which STAGGER_URL and STAGGER_KEY name.
func TestWithDispatcher(t *testing.T) {
	address := os.Getenv("STAGGER_URL")
	if address == "" {
		t.Skip("STAGGER_URL names no dispatcher")
	}
	ctx := context.Background()
	admin := must(NewClient(address, os.Getenv("STAGGER_KEY")))
	made := must(admin.CreateApplication(ctx, ApplicationSettings{Name: "go"}))
	app, client := string(made.Id), must(NewClient(address, made.Key))
	server, got := receiver(t, "")
	endpoint := must(client.CreateEndpoint(ctx, app, EndpointSettings{Url: Url(server.URL + "/")}))
	message := NewMessage{EventType: "invoice.paid", Payload: map[string]any{"amount": 10}}
	sent := must(client.SendMessage(ctx, app, message, "invoice-17"))
	again := must(client.SendMessage(ctx, app, message, "invoice-17"))
	if sent.Repeated || !again.Repeated || sent.Id != again.Id {
		t.Fatal(sent, again)
	}
	select {
	case delivery := <-got:
		webhook := must(NewWebhook(string(endpoint.Secret)))
		if err := webhook.Verify(delivery.body, delivery.header); err != nil || string(delivery.body) != `{"amount":10}` {
			t.Fatal(err, string(delivery.body))
		}
		if err := webhook.Verify(append(delivery.body, ' '), delivery.header); !errors.Is(err, ErrSignature) {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing is delivered")
	}
	raw := must(client.SendRawMessage(ctx, app, url.Values{"event_type": {"raw.bytes"}}, []byte{0, 255}, "application/x-test", ""))
	if payload := must(client.GetPayload(ctx, app, string(raw.Id))); !bytes.Equal(payload, []byte{0, 255}) {
		t.Fatal(payload)
	}
	page := must(client.ListMessages(ctx, app, url.Values{"limit": {"1"}}))
	if len(page.Items) != 1 || page.Items[0].Id != raw.Id || page.Next == nil {
		t.Fatal(page)
	}
	_, err := client.CreateEndpoint(ctx, app, EndpointSettings{Url: "ftp://example.com/"})
	var refusal *APIError
	if !errors.As(err, &refusal) || refusal.Status != 400 || refusal.Problem.Field == nil || *refusal.Problem.Field != "url" {
		t.Fatal(err)
	}
	if err := client.DeleteEndpoint(ctx, app, string(endpoint.Id)); err != nil {
		t.Fatal(err)
	}
}

func TestRepeatedSend(t *testing.T) {
	var waits []time.Duration
	server, got := receiver(t, "7", 503, 429)
	call := call{method: "POST", path: "/x", json: map[string]any{}, takesKey: true}
	must(client(t, server.URL, &waits).do(context.Background(), call))
	keys := map[string]bool{}
	for len(got) > 0 {
		keys[(<-got).header.Get("Idempotency-Key")] = true
	}
	if len(keys) != 1 || len(waits) != 2 || waits[0] < 7*time.Second || waits[1] > 7400*time.Millisecond {
		t.Fatal(keys, waits)
	}
	for status, requests := range map[int]int{503: 1, 429: 2, 400: 1} {
		server, got := receiver(t, "", status)
		client(t, server.URL, &waits).do(context.Background(), call2)
		if len(got) != requests {
			t.Fatal(status, len(got))
		}
	}
	server, got = receiver(t, "3600", 503)
	_, err := client(t, server.URL, &waits).do(context.Background(), call)
	var refusal *APIError
	if !errors.As(err, &refusal) || refusal.RetryAfter != time.Hour || len(got) != 1 {
		t.Fatal(err, len(got))
	}
}

// call2 may not be repeated, because it has no key.
var call2 = call{method: "POST", path: "/x", json: map[string]any{}}

func TestBudget(t *testing.T) {
	budget, retries := RetryBudget{tokens: retryBurst}, 0
	for i := 0; i < 1000; i++ {
		budget.onCall()
		for budget.take() {
			retries++
		}
	}
	if retries < 100 || retries > 110 {
		t.Fatal(retries)
	}
	var waits []time.Duration
	refused := client(t, "http://127.0.0.1:9", &waits)
	for i := 0; i < 20; i++ {
		if _, err := refused.do(context.Background(), call{method: "GET", path: "/x"}); err == nil {
			t.Fatal("nothing listens there")
		}
	}
	if refused.budget.take() {
		t.Fatal("the budget is used up")
	}
}

func TestSignatures(t *testing.T) {
	// The example of the specification.
	secret := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	header := http.Header{}
	header.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	header.Set("webhook-timestamp", "1614265330")
	header.Set("webhook-signature", "v1a,AAAA v1,!! v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	body, webhook := []byte(`{"test": 2432232314}`), must(NewWebhook(secret))
	other := must(NewWebhook("whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), 24))))
	for _, row := range []struct {
		webhook *Webhook
		body    []byte
		now     int64
		fits    bool
	}{
		{webhook, body, 1614265330, true},
		{webhook, body, 1614265630, true},
		{webhook, body, 1614265631, false},
		{webhook, body, 1614265029, false},
		{webhook, append(body, ' '), 1614265330, false},
		{other, body, 1614265330, false},
	} {
		err := row.webhook.VerifyAt(row.body, header, time.Unix(row.now, 0))
		if (err == nil) != row.fits || (err != nil && !errors.Is(err, ErrSignature)) {
			t.Fatal(row, err)
		}
	}
	if _, err := NewWebhook("whsk_AAAA"); err == nil {
		t.Fatal("it is no whsec_")
	}
}
