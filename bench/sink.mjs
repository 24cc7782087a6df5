// A collector that counts and forgets, in a process of its own: it must not share a thread with what is measured.
import { createServer } from 'node:http'

/** OTLP/JSON has it once in each span. */
const SPAN = Buffer.from('"startTimeUnixNano"')
const counts = { requests: 0, bytes: 0, jsonSpans: 0 }

function spansIn(body) {
  let spans = 0
  for (let at = body.indexOf(SPAN); at >= 0; at = body.indexOf(SPAN, at + SPAN.length)) spans++
  return spans
}

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    if (request.url === '/v1/traces') {
      const body = Buffer.concat(chunks)
      counts.requests++
      counts.bytes += body.length
      if (request.headers['content-type'] === 'application/json') counts.jsonSpans += spansIn(body)
    }
    response.writeHead(200, { 'content-type': request.headers['content-type'] }).end()
  })
})
server.listen(0, '127.0.0.1', () => process.send({ url: `http://127.0.0.1:${server.address().port}` }))
process.on('message', () => process.send(counts))
process.on('disconnect', () => process.exit())
