import { nearestName } from '../../plugin/config/nearest.ts'

const ALIASES: Readonly<Record<string, string>> = {
  picodingagent: 'pi',
  pimono: 'pi',
  clawdbot: 'openclaw',
  moltbot: 'openclaw',
  anthropic: 'claude-agent-sdk',
  claude: 'claude-code',
  claudecli: 'claude-code',
  claudesdk: 'claude-agent-sdk',
  claudecodesdk: 'claude-agent-sdk',
  hermesagent: 'hermes',
  nousresearch: 'hermes',
  ai: 'ai-sdk',
  vercel: 'ai-sdk',
  vercelai: 'ai-sdk',
  vercelaisdk: 'ai-sdk',
  codexcli: 'codex',
  openaicodex: 'codex',
  cursoragent: 'cursor',
  cursorcli: 'cursor',
  copilotcli: 'copilot',
  githubcopilot: 'copilot',
  locussdk: 'locus',
}

/** Agents without an adapter, with the alternative. */
const OTHERS: Readonly<Record<string, string>> = {
  openai: 'there is no adapter for the plain OpenAI client; for the OpenAI Agents SDK: hookspan init openai-agents',
}

/** The message for an unknown host: the probable one, or the alternative. */
export function unknownHost(name: string, hosts: readonly string[]): string {
  const folded = name.toLowerCase().replace(/[^a-z0-9]/g, '')
  const other = Object.hasOwn(OTHERS, folded) ? OTHERS[folded] : undefined
  if (other !== undefined) return other
  const alias = Object.hasOwn(ALIASES, folded) ? ALIASES[folded] : undefined
  const meant = alias ?? nearestName(name, hosts) ?? onlyPart(name.toLowerCase(), hosts)
  const what = `there is no host ${JSON.stringify(name.slice(0, 60))}`
  if (meant !== undefined) return `${what}. Did you mean ${meant}?`
  return `${what}; hosts: ${hosts.join(', ')}. An agent of your own calls its hooks itself: docs/hooks.md`
}

/** Finds the only host whose name contains a part, for example `agents`. */
function onlyPart(part: string, hosts: readonly string[]): string | undefined {
  const [first, second] = part.length < 3 ? [] : hosts.filter(host => host.includes(part))
  return second === undefined ? first : undefined
}
