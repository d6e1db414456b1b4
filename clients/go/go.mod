module github.com/stagger-rs/stagger/clients/go

go 1.18
