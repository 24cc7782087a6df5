// A query of the Claude Agent SDK with a guard: it blocks `rm`, and the trace shows its decision.
import { query as plainQuery } from '@anthropic-ai/claude-agent-sdk'
import { traceQuery } from 'hookspan/claude-agent-sdk'
import { block, createHooks, defineHook } from 'hookspan/hooks'
import { attachHooks } from 'hookspan/hooks/claude-agent-sdk'

const noRm = defineHook({
  name: 'no-rm',
  priority: 10,
  onFailure: 'block',
  beforeTool: ({ tool }) => (/\brm\b/.test(tool.command ?? '') ? block('Files are not deleted here.') : undefined),
})

const query = traceQuery(plainQuery)
const options = attachHooks({ settingSources: [], allowedTools: ['Bash'] }, createHooks([noRm]))
for await (const message of query({ prompt: process.argv[2] ?? 'Delete the file notes.txt.', options })) {
  if (message.type === 'result') console.log(message.result ?? message.subtype)
}
