# Both images of the project: --target operator (the default) and --target runtime. The binaries are static, the
# images hold nothing else but the public certificates.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd cmd
COPY controllers controllers
COPY runtime runtime
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/ ./cmd/aalis-operator ./cmd/aalis

FROM scratch AS runtime
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/share/zoneinfo /usr/share/zoneinfo
COPY --from=build /out/aalis /aalis
USER 65532:65532
ENTRYPOINT ["/aalis"]

FROM scratch AS operator
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/aalis-operator /aalis-operator
COPY --from=build /out/aalis /aalis
USER 65532:65532
ENTRYPOINT ["/aalis-operator"]
