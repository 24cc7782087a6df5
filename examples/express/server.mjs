// A web server with an agent in it. A request with a header `traceparent` continues the trace of its caller.
import express from 'express'
import { createPlugin } from 'hookspan'

const hooks = createPlugin({ host: 'example-express', parent: 'nest' })
const app = express().use(express.json())

app.post('/ask', async (request, response) => {
  const { question = '' } = request.body ?? {}
  const fields = { model: 'none', user_message: question, traceparent: request.get('traceparent') }
  const answer = await hooks.turn(fields, turn =>
    turn.tool('count_words', { text: question }, async ({ text }) => `${text.split(/\s+/).length} words`),
  )
  response.json({ answer })
})

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/ask`)
})
process.once('SIGTERM', () => server.close(() => hooks.shutdown()))
