import type { JSX } from 'preact'
import { CopyButton } from './elements.tsx'
import { source } from './state.ts'

/** The way to the first trace. Shown while the trace log is empty. */
export function FirstSteps(): JSX.Element | null {
  const { bytes, indexedBytes, traceCount } = source.value ?? {}
  if (traceCount !== 0 || indexedBytes !== bytes) return null
  return (
    <section class="card first-steps" aria-label="First steps">
      <h2>No traces yet</h2>
      <ol>
        <li>
          Run <Run command="npx hookspan init" /> It sets up the agents of this machine.
        </li>
        <li>Use your agent. Restart it first if it was running.</li>
        <li>Its turns appear here.</li>
      </ol>
      <p>
        Or load the demo: <Run command="npx hookspan demo" />
      </p>
      <p class="dim">
        Nothing appears? <Run command="npx hookspan doctor" /> lists the agents that it finds, and what is missing.
      </p>
    </section>
  )
}

function Run({ command }: { readonly command: string }): JSX.Element {
  return (
    <>
      <code>{command}</code> <CopyButton text={command} label={`Copy ${command}`} />
    </>
  )
}
