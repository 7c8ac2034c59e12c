"""GPU instruction sets, how a program is compiled for each, and what is read from the compiler's listing."""

import pathlib
import re
import shutil
from dataclasses import dataclass, field


@dataclass
class Kernel:
    """What a compiler made of one kernel. None: the compiler does not tell."""

    registers: int = 0  # of a work-item; Intel: the SIMD width, of 128 registers
    scratch: int = 0  # bytes of a work-item in memory: arrays and spilled registers
    local: int = 0  # bytes of a work-group
    waves: int = 0  # that a SIMD (AMD), a quarter of an SM (NVIDIA) or a vector engine (Intel) holds
    wide_loads: int | None = 0  # instructions that load 128 bits from global memory
    dots: int | None = 0  # dot products of four 8-bit integers
    matrix: int | None = 0  # matrix instructions
    matrix_reads: int | None = None  # NVIDIA's ldmatrix: reads of their operands from local memory
    ahead: int = 0  # bytes that a work-item has on their way, as the kernel's head claims; 0: not known
    instructions: int = 0


@dataclass(frozen=True)
class Target:
    name: str
    vendor: str
    lanes: int  # work-items of a wave
    registers: int = 0  # that a SIMD has for each lane
    granule: int = 1
    most_waves: int = 8
    local: int = 65536  # bytes that its SIMDs share
    simds: int = 4
    stands_in: str = ""  # AMD: whose device library is used; NVIDIA: what clang is told
    wide_waves: str = "off"


TARGETS = {t.name: t for t in (
    Target("gfx906", "amd", 64, most_waves=10, stands_in="906", wide_waves="on"),
    Target("gfx90a", "amd", 64, most_waves=8, stands_in="90a", wide_waves="on"),
    Target("gfx942", "amd", 64, most_waves=8, stands_in="90a", wide_waves="on"),
    Target("gfx1030", "amd", 32, most_waves=16, stands_in="1030"),
    Target("gfx1100", "amd", 32, most_waves=16, stands_in="1030"),
    Target("gfx1201", "amd", 32, most_waves=16, stands_in="1030"),
    Target("sm_70", "nvidia", 32, 512, 8, 16, 98304, 4, "sm_70"),
    Target("sm_80", "nvidia", 32, 512, 8, 16, 167936, 4, "sm_80"),
    Target("sm_90", "nvidia", 32, 512, 8, 16, 233472, 4, "sm_90"),
    Target("sm_120", "nvidia", 32, 512, 8, 12, 102400, 4, "sm_90"),
    Target("tgllp", "intel", 8, most_waves=7, simds=16),
    Target("dg2", "intel", 8, most_waves=8, local=131072, simds=16),
    Target("pvc", "intel", 16, most_waves=8, local=131072, simds=8))}


@dataclass
class Compiled:
    kernels: dict = field(default_factory=dict)  # name -> Kernel
    error: str = ""


def number(pattern, text):
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


def count(pattern, text):
    return len(re.findall(pattern, text, re.M))




# --- AMD ---

def amd(compilers, target, source, standard, keep):
    library = compilers.libraries / "amdgcn/bitcode"
    names = ("opencl", "ocml", "ockl", f"oclc_isa_version_{target.stands_in}", f"oclc_wavefrontsize64_{target.wide_waves}", "oclc_daz_opt_off", "oclc_finite_only_off",
             "oclc_unsafe_math_off", "oclc_correctly_rounded_sqrt_on", "oclc_abi_version_400")
    links = [word for name in names for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", library / f"{name}.bc")]
    listing = keep / f"{source.stem}.{target.name}.s"
    done = compilers.clang(source, standard, "-target", "amdgcn-amd-amdhsa", f"-mcpu={target.name}", "-nogpulib", "-mcode-object-version=4", "-o", listing, *links)
    if done.returncode:
        return Compiled(error=done.stderr)
    return Compiled(read_amd(listing.read_text()))


def read_amd(text):
    kernels = {}
    for name in re.findall(r"\.amdhsa_kernel (\S+)", text):
        body = re.search(rf"^{name}:(.*?)^\.Lfunc_end", text, re.M | re.S)
        facts = re.search(rf"\.amdhsa_kernel {name}\n(.*?)(?=\.amdhsa_kernel |\Z)", text, re.S)
        code, facts = (body[1] if body else ""), facts[1]
        kernels[name] = Kernel(registers=number(r"; TotalNumVgprs: (\d+)", facts) or number(r"; NumVgprs: (\d+)", facts), scratch=number(r"; ScratchSize: (\d+)", facts),
                               local=number(r"; LDSByteSize: (\d+)", facts), waves=number(r"; Occupancy: (\d+)", facts),
                               wide_loads=count(r"^\s+(?:global|flat|buffer)_load_(?:dwordx4|b128)", code), dots=count(r"^\s+v_(?:s?u?dot4|dot4)", code),
                               matrix=count(r"^\s+v_s?w?mfmac?_|^\s+v_s?wmmac?_|^\s+v_mfma_|^\s+v_wmma_", code), instructions=count(r"^\s+[a-z]\w+(?:\s|$)", code))
    return kernels


# --- NVIDIA ---

def annotate_groups(llvm):
    """LLVM's text, where the work-groups that kernels ask for become PTX's .reqntid: NVIDIA's compiler and PoCL's CUDA driver write it, clang does not.
    ptxas shares the registers of a multiprocessor among that many work-items, and without it among as many as a work-group may have."""
    sizes = {m[1]: m.groups()[1:] for m in re.finditer(r"^!(\d+) = !\{i32 (\d+), i32 (\d+), i32 (\d+)\}$", llvm, re.M)}
    free = 1 + max((int(m) for m in re.findall(r"^!(\d+) = ", llvm, re.M)), default=-1)
    asked = re.findall(r"^define [^\n]*?@(\w+)\([^\n]*!reqd_work_group_size !(\d+)", llvm, re.M)
    notes = [f'!{free + i} = !{{ptr @{name}, !"reqntidx", i32 {x}, !"reqntidy", i32 {y}, !"reqntidz", i32 {z}}}' for i, (name, size) in enumerate(asked) for x, y, z in (sizes[size],)]
    return llvm + "\n".join(["", f"!nvvm.annotations = !{{{', '.join(f'!{free + i}' for i in range(len(asked)))}}}", *notes, ""]) if asked else llvm


def nvidia(compilers, target, source, standard, keep):
    stem, device = keep / f"{source.stem}.{target.name}", ("-target", "nvptx64-nvidia-nvcl", "-Xclang", "-target-cpu", "-Xclang", target.stands_in)
    done = compilers.clang(source, standard, *device, "-emit-llvm", "-o", f"{stem}.ll", "-Xclang", "-mlink-builtin-bitcode", "-Xclang", compilers.root / "lib/clc/nvptx64--nvidiacl.bc")
    if done.returncode:
        return Compiled(error=done.stderr)
    made = pathlib.Path(f"{stem}.ll")
    made.write_text(annotate_groups(made.read_text()))
    done = compilers.clang_from_llvm(made, *device, "-o", f"{stem}.ptx")
    if done.returncode:
        return Compiled(error=done.stderr)
    old = target.name == "sm_70"
    done = compilers.run(compilers.nvidia("ptxas", "nvidia_cuda_nvcc_cu12" if old else "nvidia_cuda_nvcc"), "-v", f"-arch={target.name}", f"{stem}.ptx", "-o", f"{stem}.cubin")
    if done.returncode:
        return Compiled(error=done.stderr)
    listing = "" if old else compilers.run(compilers.nvidia("nvdisasm", "nvidia_cuda_nvdisasm"), "-c", f"{stem}.cubin").stdout
    return Compiled(read_nvidia(target, done.stderr + done.stdout, open(f"{stem}.ptx", encoding="utf-8").read(), listing))


def read_nvidia(target, log, ptx, listing):
    groups = {m[1]: int(m[2]) * int(m[3] or 1) * int(m[4] or 1)
              for m in re.finditer(r"\.entry (\w+)\([^)]*\)\s*\.reqntid (\d+)(?:, (\d+))?(?:, (\d+))?", ptx)}
    code = {m[1]: m[2] for m in re.finditer(r"^\s*\.text\.(\w+):(.*?)(?=^\s*\.section|\Z)", listing, re.M | re.S)}
    kernels = {}
    for told in re.finditer(r"Compiling entry function '(\w+)'.*?(?=Compiling entry function|\Z)", log, re.S):
        name, body = told[1], code.get(told[1])
        k = Kernel(registers=number(r"Used (\d+) registers", told[0]), scratch=number(r"(\d+) bytes stack", told[0]), local=number(r"(\d+) bytes smem", told[0]))
        k.waves = min(target.most_waves, target.registers // max(target.granule, -(-k.registers // target.granule) * target.granule))
        if k.local:
            k.waves = min(k.waves, max(1, target.local // k.local * -(-groups.get(name, 64) // target.lanes) // target.simds))
        if body is None:
            k.wide_loads = k.dots = k.matrix = None
        else:
            k.wide_loads, k.dots, k.matrix = count(r"\bLDG\.\S*128", body), count(r"\bIDP\b|\bIDP\.", body), count(r"\b[HIQ]G?MMA\b", body)
            k.matrix_reads = count(r"\bLDSM\b", body)
            k.instructions = count(r"^\s+/\*[0-9a-f]{4,}\*/", body)
        kernels[name] = k
    return kernels


# --- Intel ---

def intel(compilers, target, source, standard, keep):
    made = keep / f"{source.stem}.{target.name}"
    shutil.rmtree(made, ignore_errors=True)
    device = {"dg2": "dg2-g10"}.get(target.name, target.name)
    done = compilers.run(compilers.root / "bin/ocloc", "compile", "-file", source, "-device", device, "-options", f"-cl-std={standard}", "-out_dir", made)
    binary = next(made.glob("*.bin"), None) if made.is_dir() else None
    if not binary:
        return Compiled(error=done.stdout + done.stderr)
    compilers.run(compilers.root / "bin/ocloc", "disasm", "-file", binary, "-device", device, "-dump", made / "listing")
    kernels = {}
    for path in sorted((made / "listing").glob("*_KernelHeap.asm")):
        name = path.name[:-len("_KernelHeap.asm")]
        if name == "Intel_Symbol_Table_Void_Program":  # the compiler's own
            continue
        kernels[name] = read_intel(target, name, done.stdout + done.stderr, path.read_text(errors="replace"))
    return Compiled(kernels)


def read_intel(target, name, log, code):
    width = max((int(m) for m in re.findall(r"^(?:\(W\))?\s*(?:\([^)]*\))?\s*(?:mad|mul|add|mov)\w*\s+\((\d+)\|M\d+\)", code, re.M)), default=0)
    spilled = re.search(rf"kernel {re.escape(name)}\s+compiled SIMD(\d+) allocated \d+ regs and spilled around (\d+)", log)
    return Kernel(registers=width, scratch=int(spilled[2]) * 32 // max(1, int(spilled[1])) if spilled else 0, local=0, waves=target.most_waves,
                  wide_loads=None, dots=count(r"^(?:\(W\))?\s*(?:\([^)]*\))?\s*dp4a", code), matrix=count(r"^(?:\(W\))?\s*(?:\([^)]*\))?\s*dpasw?\.", code),
                  instructions=count(r"\|M\d+\)", code))


VENDORS = {"amd": amd, "nvidia": nvidia, "intel": intel}


def compile_for(compilers, target, source, standard, keep):
    """Compiles a file of OpenCL C; keeps the listings in the folder `keep`."""
    return VENDORS[target.vendor](compilers, target, source, standard, keep)
