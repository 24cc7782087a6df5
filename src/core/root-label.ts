import type { SafeText } from '../content/capture.ts'
import type { CoreOptions } from './options.ts'
import type { Turn } from './turn.ts'

/** Of a session's id: ids of one day begin alike, and columns are narrow. */
const SESSION_CHARACTERS = 8

/** What stands behind the name of a root, in this order. */
export interface RootLabel {
  readonly agent: SafeText | undefined
  readonly session: SafeText | undefined
}

/** For lists that show nothing of a trace but the name of its root. Undefined when the name is to stand alone. */
export function rootLabel({ draw }: CoreOptions, { agentName, session }: Turn): RootLabel | undefined {
  if (draw.rootLabel === 'none') return undefined
  return { agent: agentName, session: draw.rootLabel === 'session' ? draw.capture.id(session.id) : undefined }
}

/** `agent writer …0000aaaa`. A name that ends with the agent already does not say it again. */
export function labelled(name: SafeText, { agent, session }: RootLabel): string {
  const isSaid = agent === undefined || name.endsWith(` ${agent}`)
  return [name, ...(isSaid ? [] : [agent]), ...(session === undefined ? [] : [shortened(session)])].join(' ')
}

function shortened(id: SafeText): string {
  return id.length <= SESSION_CHARACTERS + 1 ? id : `…${id.slice(-SESSION_CHARACTERS)}`
}
