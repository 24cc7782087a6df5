// A hook by HTTP that does nothing: what an agent pays for whichever it is.
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  request.resume().once('end', () => {
    response.statusCode = 204
    response.end()
  })
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
