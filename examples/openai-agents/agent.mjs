// A run of the OpenAI Agents SDK with a tool, traced by a trace processor.
import { Agent, OpenAIProvider, Runner, setTraceProcessors, tool } from '@openai/agents'
import { createTraceProcessor, traceRunner } from 'hookspan/openai-agents'
import { z } from 'zod'

const { OPENAI_BASE_URL, OPENAI_API_KEY = 'none', MODEL = 'gpt-4o' } = process.env
// In place of the SDK's own exporter, which sends traces to OpenAI.
setTraceProcessors([createTraceProcessor()])

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
})
const agent = new Agent({ name: 'forecaster', instructions: 'You forecast the weather.', tools: [getWeather] })
const modelProvider = new OpenAIProvider({ apiKey: OPENAI_API_KEY, baseURL: OPENAI_BASE_URL, useResponses: false })
const runner = traceRunner(new Runner({ modelProvider, model: MODEL }))

const { finalOutput } = await runner.run(agent, process.argv[2] ?? 'How is the weather in Paris?')
console.log(finalOutput)
