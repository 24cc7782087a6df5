import { virtualEnvironment } from './python.mjs'

/** Harbor's validator of trajectories. Harbor as a whole wants a later Python than its models do. */
export async function install({ folder, version }) {
  const pin = `harbor==${version}`
  const requirements = new URL('harbor-requirements.txt', import.meta.url)
  const { python } = await virtualEnvironment({ folder, requirements, pin, pipOptions: ['--ignore-requires-python'] })
  return { python }
}
