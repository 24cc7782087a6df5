import { load } from '../packages/load.ts'

const facts = load<{ name: string; version: string; engines: { node: string } }>('../../package.json')

export const PACKAGE_NAME: string = facts.name
export const PACKAGE_VERSION: string = facts.version
/** Versions of Node that it runs on. */
export const NODE_RANGE: string = facts.engines.node
