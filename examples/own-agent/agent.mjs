// An agent of your own: it asks a model, runs the tools that the model wants, and prints the answer.
import { createPlugin } from 'hookspan'

const { OPENAI_BASE_URL = 'http://127.0.0.1:11434/v1', OPENAI_API_KEY = 'none', MODEL = 'qwen3' } = process.env
const hooks = createPlugin({ host: 'example-agent' })

const tools = { get_weather: async ({ city }) => `sunny in ${city}` }
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const description = { name: 'get_weather', description: 'The weather of a city', parameters }

async function callModel(body) {
  const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${OPENAI_API_KEY}` },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`the model answered ${response.status}`)
  return response.json()
}

const question = process.argv[2] ?? 'How is the weather in Paris?'
const messages = [{ role: 'user', content: question }]
const body = { model: MODEL, messages, tools: [{ type: 'function', function: description }] }
const answer = await hooks.turn({ model: MODEL, user_message: question }, async turn => {
  for (;;) {
    const { message } = (await turn.request(body, () => callModel(body))).choices[0]
    messages.push(message)
    if (!message.tool_calls?.length) return message.content
    for (const { id, function: call } of message.tool_calls) {
      const tool = { tool_name: call.name, tool_call_id: id }
      const content = await turn.tool(tool, JSON.parse(call.arguments), tools[call.name])
      messages.push({ role: 'tool', tool_call_id: id, content })
    }
  }
})
console.log(answer)
