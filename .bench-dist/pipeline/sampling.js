import { traceSdk } from './sdk.js';
/** Decided once per trace, at its root. Always explicit: without one, the SDK would read a sampler from the environment. */
export function createSampler(settings) {
    return new (traceSdk().ParentBasedSampler)({ root: rootSampler(settings) });
}
function rootSampler(settings) {
    const { AlwaysOffSampler, AlwaysOnSampler, TraceIdRatioBasedSampler } = traceSdk();
    switch (settings.type) {
        case 'always_on':
            return new AlwaysOnSampler();
        case 'always_off':
            return new AlwaysOffSampler();
        case 'ratio':
            return new TraceIdRatioBasedSampler(settings.ratio ?? 1);
    }
}
