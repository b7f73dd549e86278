/* What a J-Link offers and an emulated board does not: the call exists and says so. */
#include "vjlink.h"

#define VJ_STUB(name)                                                                                        \
    VJ_API int name(void);                                                                                   \
    int name(void) {                                                                                         \
        return VJ_NOT_SUPPORTED;                                                                             \
    }

VJ_STUB(JLINKARM_SWO_GetCompatibleSpeeds)
VJ_STUB(JLINKARM_SWO_ReadStimulus)
VJ_STUB(JLINKARM_MeasureCPUSpeedEx)
VJ_STUB(JLINKARM_WriteVectorCatch)
VJ_STUB(JLINKARM_GetMOEs)
VJ_STUB(JLINKARM_GetNumWPs)
VJ_STUB(JLINKARM_GetNumWPUnits)
VJ_STUB(JLINKARM_GetWPInfoEx)
VJ_STUB(JLINKARM_SetDataEvent)
VJ_STUB(JLINKARM_ClrDataEvent)
VJ_STUB(JLINKARM_GetHWInfo)
VJ_STUB(JLINKARM_GetBPInfoEx)
VJ_STUB(JLINKARM_WriteRegs)
VJ_STUB(JLINKARM_WriteU64)
VJ_STUB(JLINKARM_ETM_IsPresent)
VJ_STUB(JLINKARM_GetDebugInfo)
VJ_STUB(JLINKARM_CORESIGHT_Configure)
VJ_STUB(JLINKARM_CORESIGHT_ReadAPDPReg)
VJ_STUB(JLINKARM_CORESIGHT_WriteAPDPReg)
VJ_STUB(JLINKARM_UpdateFirmwareIfNewer)
VJ_STUB(JLINKARM_ReadMemZonedEx)
VJ_STUB(JLINKARM_WriteMemZonedEx)
VJ_STUB(JLINK_GetMemZones)
VJ_STUB(JLINK_GetAvailableLicense)
VJ_STUB(JLINK_EMU_GetLicenses)
VJ_STUB(JLINK_EMU_GPIO_GetProps)
VJ_STUB(JLINK_EMU_GPIO_GetState)
VJ_STUB(JLINK_EMU_GPIO_SetState)
VJ_STUB(JLINK_HSS_GetCaps)
VJ_STUB(JLINK_HSS_Start)
VJ_STUB(JLINK_HSS_Stop)
VJ_STUB(JLINK_HSS_Read)
VJ_STUB(JLINK_STRACE_Config)
VJ_STUB(JLINK_STRACE_Control)
VJ_STUB(JLINK_STRACE_Read)
VJ_STUB(JLINK_STRACE_Start)
VJ_STUB(JLINK_STRACE_Stop)
VJ_STUB(JLINK_POWERTRACE_Control)
VJ_STUB(JLINK_POWERTRACE_Read)
