"""Says which prompt of a batch an error is about (S97)."""

from __future__ import annotations

from typing import Final

from dragoman.core.errors import Code, EngineFailed, InvalidRequest, ServiceError, Unsupported

_CAPABILITY_FAULTS: Final = frozenset(
    {
        Code.ENGINE_LOGPROB_TAIL,
        Code.ENGINE_ECHO_POSITION,
        Code.ENGINE_LOGPROB_CANDIDATE,
        Code.ENGINE_LOGPROB_RECORDS,
        Code.ENGINE_TIMEOUT,
    }
)


def attributed(error: ServiceError, prompt: int) -> ServiceError:
    """The same error, told of prompt number ``prompt``.

    What is wrong with the prompt names it; what the engine can not do, or did wrong, names it in words only; a failure of the whole
    engine is nobody's in particular.
    """
    place = f"prompt[{prompt}]"
    match error:
        case Unsupported():
            return _again(error, f"{place}: {error.message}", feature=error.feature, param=error.param)
        case InvalidRequest():
            return _again(error, f"{place}: {error.message}", feature=place, param=None)
        case EngineFailed() if error.code in _CAPABILITY_FAULTS:
            return _again(error, f"{place}: {error.message}", feature=error.feature, param=error.param)
        case _:
            return error


def _again(error: ServiceError, message: str, *, feature: str | None, param: str | None) -> ServiceError:
    return type(error)(message, code=error.code, feature=feature, param=param, retry_after=error.retry_after)
