/** A user's program: a query, traced; what happens in it is in the first argument. */
import { query as plainQuery } from '@anthropic-ai/claude-agent-sdk'
import { traceQuery } from 'hookspan/claude-agent-sdk'

const query = traceQuery(plainQuery)

const {
  prompts,
  permission,
  options = {},
  leaveAt,
  interruptAt,
  abortAt,
  pauseMillis = 0,
  atOnce,
} = JSON.parse(process.argv[2])
const pause = millis => new Promise(resolve => setTimeout(resolve, millis))

const ANSWERS = {
  allow: input => ({ behavior: 'allow', updatedInput: input }),
  session: input => ({
    behavior: 'allow',
    updatedInput: input,
    updatedPermissions: [
      { type: 'addRules', rules: [{ toolName: 'Bash' }], behavior: 'allow', destination: 'session' },
    ],
  }),
  deny: () => ({ behavior: 'deny', message: 'not today' }),
}

/** The next prompt is typed when the answer to the one before is there. */
let answered
async function* typed() {
  for (const prompt of prompts) {
    const isAnswered = new Promise(resolve => {
      answered = resolve
    })
    yield { type: 'user', message: { role: 'user', content: prompt }, parent_tool_use_id: null }
    await isAnswered
  }
}

const canUseTool = async (_name, input) => {
  await pause(50)
  return ANSWERS[permission](input)
}

async function run(prompt) {
  const abortController = new AbortController()
  const running = query({
    prompt,
    options: {
      model: 'claude-sonnet-4-5',
      settingSources: [],
      cwd: process.cwd(),
      env: process.env,
      abortController,
      ...(permission === undefined ? {} : { canUseTool }),
      ...options,
    },
  })
  for await (const message of running) {
    await pause(pauseMillis)
    if (message.type === 'result') answered?.()
    if (interruptAt !== undefined && message.subtype === interruptAt) setTimeout(() => running.interrupt(), 500)
    if (abortAt !== undefined && message.subtype === abortAt) setTimeout(() => abortController.abort(), 500)
    if (leaveAt !== undefined && message.type === leaveAt) break
  }
}

try {
  if (atOnce) await Promise.all(prompts.map(prompt => run(prompt)))
  else await run(prompts.length === 1 && interruptAt === undefined ? prompts[0] : typed())
  console.log('ended')
} catch (error) {
  console.log(`failed: ${error.message.split('\n')[0]}`)
}
