// A call of the Vercel AI SDK with a tool, traced by a telemetry integration.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, registerTelemetry, tool } from 'ai'
import { createTelemetry } from 'hookspan/ai-sdk'
import { z } from 'zod'

const { OPENAI_BASE_URL = 'http://127.0.0.1:11434/v1', OPENAI_API_KEY = 'none', MODEL = 'qwen3' } = process.env
registerTelemetry(createTelemetry())

const provider = createOpenAICompatible({ name: 'example', baseURL: OPENAI_BASE_URL, apiKey: OPENAI_API_KEY })
const getWeather = tool({
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
})

const { text } = await generateText({
  model: provider(MODEL),
  prompt: process.argv[2] ?? 'How is the weather in Paris?',
  tools: { get_weather: getWeather },
  stopWhen: isStepCount(5),
})
console.log(text)
